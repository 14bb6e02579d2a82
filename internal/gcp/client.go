// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package gcp

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	iamadmin "cloud.google.com/go/iam/admin/apiv1"
	"cloud.google.com/go/iam/admin/apiv1/adminpb"
	logging "cloud.google.com/go/logging/apiv2"
	run "cloud.google.com/go/run/apiv2"
	"cloud.google.com/go/run/apiv2/runpb"
	secretmanager "cloud.google.com/go/secretmanager/apiv1"
	"github.com/jonboulle/clockwork"
	"golang.org/x/oauth2"
	"google.golang.org/api/option"
	"google.golang.org/api/storage/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
)

const defaultRequestTimeout = 2 * time.Minute

// Options configure a [Client]. Of the credentials the first that is set counts: TokenSource, AccessToken, CredentialsJSON,
// CredentialsFile; without any, Application Default Credentials are looked for at the first call.
type Options struct {
	CredentialsJSON []byte
	CredentialsFile string
	AccessToken     string
	TokenSource     oauth2.TokenSource
	// ImpersonateServiceAccount is the e-mail of the account to act as.
	ImpersonateServiceAccount string
	// UserProjectOverride sends the project that pays and whose quota counts with each call: BillingProject, or when that is empty the
	// project of the resource. Without it the credentials' own quota project counts, if they name one.
	UserProjectOverride bool
	BillingProject      string
	// Project is the project that counts, with UserProjectOverride, for calls that name none (a bucket is known by its name alone).
	Project   string
	UserAgent string
	// RequestTimeout bounds each attempt of each call; 0 means two minutes.
	RequestTimeout time.Duration
	Endpoints      Endpoints
	// EmulatorHost, host:port, sends every API there, without credentials. The other endpoints are then not looked at.
	EmulatorHost string
	// Clock times pauses and polls; nil is the real one.
	Clock clockwork.Clock
}

// Client calls Google Cloud. It is safe for concurrent use. Connections are made at the first call.
type Client struct {
	options  Options
	identity *identity
	clock    clockwork.Clock
	backoff  Backoff
	timeout  time.Duration

	runAt, iamAt, storageAt, secretsAt, logsAt endpoint
	emulator                                   bool
	tls                                        *tls.Config

	runAPI     func() (*runClients, error)
	iamAPI     func() (*iamadmin.IamClient, error)
	storageAPI func() (*storage.Service, error)
	secretsAPI func() (*secretmanager.Client, error)
	logsAPI    func() (*logging.Client, error)

	mu      sync.Mutex
	closed  bool
	closers []func() error

	deleted  names
	policies policyWriters

	jobReads     gathered[*runpb.Job]
	accountReads gathered[*adminpb.ServiceAccount]
	policyReads  gathered[*policy]
	bucketReads  gathered[*storage.Bucket]
	rightsReads  gathered[[]string]
	askers       atomic.Int64
	sending      atomic.Int64 // requests that are under way
	pace         atomic.Int64 // how long a request takes, in nanoseconds
}

// quickAnswers is how long requests take where waiting for those that are under way costs little. Farther away a few milliseconds of waiting
// do nothing, and more would be longer than the requests themselves.
const quickAnswers = 25 * time.Millisecond

// busy reports whether requests are under way for whose senders it is worth to wait.
func (c *Client) busy() bool {
	return c.sending.Load() > 0 && time.Duration(c.pace.Load()) < quickAnswers
}

// sent sends a request, and keeps how long it took.
func (c *Client) sent(send func() error) error {
	begun := c.clock.Now()
	c.sending.Add(1)
	err := send()
	c.sending.Add(-1)
	c.pace.Store((7*c.pace.Load() + int64(c.clock.Since(begun))) / 8) // two at once lose one of them, which is as good
	return err
}

type runClients struct {
	jobs       *run.JobsClient
	executions *run.ExecutionsClient
	tasks      *run.TasksClient
}

// New makes a client. It reads the credentials that the options name and makes no connection; ctx is not kept. Its errors are for users:
// they say which part of the configuration is wrong.
func New(_ context.Context, o Options) (*Client, error) {
	c := &Client{options: o, clock: o.Clock, timeout: o.RequestTimeout, tls: &tls.Config{MinVersion: tls.VersionTLS12}}
	if c.clock == nil {
		c.clock = clockwork.NewRealClock()
	}
	if c.timeout <= 0 {
		c.timeout = defaultRequestTimeout
	}
	c.backoff = Backoff{Clock: c.clock}
	if err := c.findEndpoints(o); err != nil {
		return nil, err
	}
	var err error
	if c.emulator {
		c.identity = &identity{}
	} else if c.identity, err = newIdentity(o); err != nil {
		return nil, err
	}
	c.runAPI = sync.OnceValues(c.dialRun)
	c.iamAPI = sync.OnceValues(c.dialIAM)
	c.storageAPI = sync.OnceValues(c.dialStorage)
	c.secretsAPI = sync.OnceValues(c.dialSecrets)
	c.logsAPI = sync.OnceValues(c.dialLogs)
	c.deleted.clock = c.clock
	c.policies.client = c
	c.jobReads = gathered[*runpb.Job]{clock: c.clock, busy: c.busy, fetch: c.fetchJobs}
	c.accountReads = gathered[*adminpb.ServiceAccount]{clock: c.clock, busy: c.busy, fetch: c.fetchAccounts}
	c.policyReads = gathered[*policy]{clock: c.clock, busy: c.busy, fetch: fetchOnce(c.readPolicy)}
	c.bucketReads = gathered[*storage.Bucket]{clock: c.clock, busy: c.busy, fetch: fetchOnce(func(ctx context.Context, name string) (*storage.Bucket, error) { return c.readBucket(ctx, name) })}
	c.rightsReads = gathered[[]string]{clock: c.clock, busy: c.busy, fetch: fetchOnce(c.readRights)}
	return c, nil
}

func (c *Client) findEndpoints(o Options) error {
	if o.EmulatorHost != "" {
		e, err := emulatorEndpoint(o.EmulatorHost)
		if err != nil {
			return err
		}
		c.runAt, c.iamAt, c.storageAt, c.secretsAt, c.logsAt, c.emulator = e, e, e, e, e, true
		return nil
	}
	var errs [5]error
	c.runAt, errs[0] = grpcEndpoint("run", o.Endpoints.Run, "https://run.googleapis.com")
	c.iamAt, errs[1] = grpcEndpoint("iam", o.Endpoints.IAM, "https://iam.googleapis.com")
	c.storageAt, errs[2] = parseEndpoint("storage", o.Endpoints.Storage, "https://storage.googleapis.com")
	c.secretsAt, errs[3] = grpcEndpoint("secretmanager", o.Endpoints.SecretManager, "https://secretmanager.googleapis.com")
	c.logsAt, errs[4] = grpcEndpoint("logging", o.Endpoints.Logging, "https://logging.googleapis.com")
	// Google is reached over TLS only, so a set of plain endpoints of this machine is an emulator too.
	c.emulator = c.runAt.plain && c.iamAt.plain && c.storageAt.plain
	if err := errors.Join(errs[:]...); err != nil {
		return err
	}
	return errors.Join(
		c.ofSameWorld("secretmanager", &c.secretsAt, o.Endpoints.SecretManager),
		c.ofSameWorld("logging", &c.logsAt, o.Endpoints.Logging))
}

// CheckEndpoint says whether an address can be the endpoint of an API of [Endpoints], "run" for example. Whether the endpoints go with
// each other only [New] can tell. The error is for users.
func CheckEndpoint(api, address string) error {
	var err error
	if api == "storage" {
		_, err = parseEndpoint(api, address, "")
	} else {
		_, err = grpcEndpoint(api, address, "")
	}
	return err
}

// ofSameWorld keeps a further API in the world of the jobs: a grant that was made on a secret of Google's is not looked for on an emulator,
// found missing and forgotten, nor the other way round, and no job is told by the logs of another. The emulator serves everything on one
// port, so that an API whose endpoint the configuration does not name is where its jobs are.
func (c *Client) ofSameWorld(api string, at *endpoint, configured string) error {
	switch {
	case c.emulator == at.plain:
		return nil
	case !c.emulator:
		return fmt.Errorf("the %s endpoint %q is an emulator's, but those of run, iam and storage are not all: "+
			"set all of them to the emulator, or none", api, configured)
	case configured == "":
		*at = c.runAt
		return nil
	}
	return fmt.Errorf("the %s endpoint %q is not an emulator's, but those of run, iam and storage are: "+
		"leave it out, or set it to the emulator, too", api, configured)
}

// Emulator reports whether the client talks to the emulator and not to Google Cloud.
func (c *Client) Emulator() bool { return c.emulator }

// Close closes the connections. Calls that are under way fail.
func (c *Client) Close() error {
	c.mu.Lock()
	c.closed = true
	closers := c.closers
	c.closers = nil
	c.mu.Unlock()
	var errs []error
	for _, f := range closers {
		errs = append(errs, f())
	}
	return errors.Join(errs...)
}

func (c *Client) onClose(f func() error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return errors.Join(errors.New("the client is closed"), f())
	}
	c.closers = append(c.closers, f)
	return nil
}

// dial makes the connection object; gRPC connects at the first call.
func (c *Client) dial(e endpoint) (*grpc.ClientConn, error) {
	opts := []grpc.DialOption{
		grpc.WithUserAgent(c.options.UserAgent),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(math.MaxInt32)),
		// There is one retry policy, and none that comes from somewhere else.
		grpc.WithDisableServiceConfig(),
		grpc.WithDisableRetry(),
	}
	if e.plain {
		opts = append(opts, grpc.WithTransportCredentials(insecure.NewCredentials()))
	} else {
		opts = append(opts,
			grpc.WithTransportCredentials(credentials.NewTLS(c.tls)),
			grpc.WithPerRPCCredentials(perRPC{c.identity}))
	}
	conn, err := grpc.NewClient(e.target(), opts...)
	if err != nil {
		return nil, fmt.Errorf("the address %s cannot be used: %w", e.base, err)
	}
	return conn, c.onClose(conn.Close)
}

func (c *Client) dialRun() (*runClients, error) {
	conn, err := c.dial(c.runAt)
	if err != nil {
		return nil, err
	}
	var clients runClients
	ctx, opt := context.Background(), option.WithGRPCConn(conn)
	if clients.jobs, err = run.NewJobsClient(ctx, opt); err != nil {
		return nil, err
	}
	if clients.executions, err = run.NewExecutionsClient(ctx, opt); err != nil {
		return nil, err
	}
	if clients.tasks, err = run.NewTasksClient(ctx, opt); err != nil {
		return nil, err
	}
	// The libraries' own retries are switched off: there is one retry policy.
	clients.jobs.CallOptions = &run.JobsCallOptions{}
	clients.executions.CallOptions = &run.ExecutionsCallOptions{}
	clients.tasks.CallOptions = &run.TasksCallOptions{}
	return &clients, nil
}

func (c *Client) dialIAM() (*iamadmin.IamClient, error) {
	conn, err := c.dial(c.iamAt)
	if err != nil {
		return nil, err
	}
	client, err := iamadmin.NewIamClient(context.Background(), option.WithGRPCConn(conn))
	if err != nil {
		return nil, err
	}
	client.CallOptions = &iamadmin.IamCallOptions{}
	return client, nil
}

func (c *Client) dialSecrets() (*secretmanager.Client, error) {
	conn, err := c.dial(c.secretsAt)
	if err != nil {
		return nil, err
	}
	client, err := secretmanager.NewClient(context.Background(), option.WithGRPCConn(conn))
	if err != nil {
		return nil, err
	}
	client.CallOptions = &secretmanager.CallOptions{}
	return client, nil
}

func (c *Client) dialLogs() (*logging.Client, error) {
	conn, err := c.dial(c.logsAt)
	if err != nil {
		return nil, err
	}
	client, err := logging.NewClient(context.Background(), option.WithGRPCConn(conn))
	if err != nil {
		return nil, err
	}
	client.CallOptions = &logging.CallOptions{}
	return client, nil
}

func (c *Client) dialStorage() (*storage.Service, error) {
	transport, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		return nil, errors.New("the default HTTP transport was replaced by one that cannot be copied")
	}
	transport = transport.Clone()
	transport.TLSClientConfig = c.tls.Clone()
	transport.MaxIdleConnsPerHost = deleteWorkers
	var tripper http.RoundTripper = transport
	if !c.storageAt.plain {
		tripper = bearer{id: c.identity, host: c.storageAt.base.Host, next: transport}
	}
	base := *c.storageAt.base
	if base.Path == "" || base.Path == "/" {
		base.Path = "/storage/v1/"
	} else if base.Path[len(base.Path)-1] != '/' {
		base.Path += "/"
	}
	s, err := storage.NewService(context.Background(), option.WithHTTPClient(&http.Client{Transport: tripper}), option.WithEndpoint(base.String()))
	if err != nil {
		return nil, err
	}
	s.UserAgent = c.options.UserAgent
	return s, c.onClose(func() error { transport.CloseIdleConnections(); return nil })
}

// quotaProject is the project that pays for a call on a resource of the given project and whose quota counts; "" leaves it to the API.
func (c *Client) quotaProject(ctx context.Context, resource string) string {
	o := c.options
	switch {
	case !o.UserProjectOverride:
		return c.identity.quotaProject(ctx)
	case o.BillingProject != "":
		return o.BillingProject
	case resource != "":
		return resource
	}
	return o.Project
}

// names remembers for a while which names this client has given back, so that "already exists" right after a delete can be told from a
// name that somebody else holds.
type names struct {
	clock clockwork.Clock
	mu    sync.Mutex
	at    map[string]time.Time
}

func (n *names) add(name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.at == nil {
		n.at = map[string]time.Time{}
	}
	n.at[name] = n.clock.Now()
}

func (n *names) recent(name string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	at, ok := n.at[name]
	return ok && n.clock.Since(at) < 5*time.Minute
}
