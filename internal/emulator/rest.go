// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package emulator

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"connectrpc.com/vanguard"
	"connectrpc.com/vanguard/vanguardgrpc"
	"google.golang.org/genproto/googleapis/api/annotations"
	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/reflect/protoregistry"
)

// maxMessage bounds a request or an answer, in bytes.
const maxMessage = 64 << 20

// restFront passes native gRPC on and translates REST into it, by the HTTP
// annotations of the services.
type restFront struct {
	names, numbers http.Handler
}

// operationRules are the paths at which Cloud Run serves operations; Google's
// own annotations of the service say /v1.
var operationRules = []*annotations.HttpRule{
	{Selector: "google.longrunning.Operations.GetOperation", Pattern: &annotations.HttpRule_Get{Get: "/v2/{name=projects/*/locations/*/operations/*}"}},
	{Selector: "google.longrunning.Operations.DeleteOperation", Pattern: &annotations.HttpRule_Delete{Delete: "/v2/{name=projects/*/locations/*/operations/*}"}},
	{Selector: "google.longrunning.Operations.ListOperations", Pattern: &annotations.HttpRule_Get{Get: "/v2/{name=projects/*/locations/*}/operations"}},
	{Selector: "google.longrunning.Operations.WaitOperation", Pattern: &annotations.HttpRule_Post{Post: "/v2/{name=projects/*/locations/*/operations/*}:wait"}, Body: "*"},
}

// newRESTFront stands in front of every service that is registered so far. Two
// transcoders, because the form of enums is a property of the codec.
func newRESTFront(server *grpc.Server) (*restFront, error) {
	transcoder := func(enumNumbers bool) (http.Handler, error) {
		t, err := vanguardgrpc.NewTranscoder(server,
			vanguard.WithCodec(newCodec(enumNumbers)),
			vanguard.WithRules(operationRules...),
			// The default options replace those of the gRPC helper, hence the first
			// two again.
			vanguard.WithDefaultServiceOptions(
				vanguard.WithTargetCodecs(vanguard.CodecProto),
				vanguard.WithTargetProtocols(vanguard.ProtocolGRPC),
				vanguard.WithMaxMessageBufferBytes(maxMessage),
			),
		)
		if err != nil {
			return nil, fmt.Errorf("translating REST: %w", err)
		}
		return t, nil
	}
	names, err := transcoder(false)
	if err != nil {
		return nil, err
	}
	numbers, err := transcoder(true)
	if err != nil {
		return nil, err
	}
	return &restFront{names: names, numbers: numbers}, nil
}

// ServeHTTP implements http.Handler.
func (f *restFront) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if isGRPC(r) {
		f.names.ServeHTTP(w, r)
		return
	}
	query, system := splitQuery(r.URL.RawQuery)
	next := f.names
	switch alt := system.get("alt"); alt {
	case "", "json":
	case "json;enum-encoding=int":
		next = f.numbers
	default:
		writeError(w, status.Newf(codes.InvalidArgument, "The emulator does not answer in the form alt=%s: ask for json.", alt))
		return
	}
	inner := r.Clone(r.Context())
	inner.URL.RawQuery = query
	inner.Header.Del("Connect-Protocol-Version")
	inner.Header.Del("Accept-Encoding") // answers are read again below
	if r.Method == http.MethodGet || r.Method == http.MethodDelete {
		inner.Body, inner.ContentLength = http.NoBody, 0 // some clients send {}
	}
	if inner.ContentLength == 0 {
		inner.Header.Del("Content-Type")
	} else {
		inner.Header.Set("Content-Type", "application/json")
	}
	answer := &buffer{header: http.Header{}, code: http.StatusOK}
	next.ServeHTTP(answer, inner)
	answer.send(w, r, system.get("prettyPrint") == "false")
}

// systemParameters are those that every Google API takes beside its own, with
// and without the leading dollar.
var systemParameters = []string{
	"alt", "fields", "key", "prettyPrint", "quotaUser", "userIp", "userProject", "callback", "access_token", "oauth_token",
	"uploadType", "upload_protocol", "unique", ".xgafv",
}

type systemQuery map[string]string

func (q systemQuery) get(name string) string { return q[name] }

// splitQuery parts the system parameters from those of the method. It looks at
// the raw text: Go's parser drops a pair that holds a bare semicolon, as in
// $alt=json;enum-encoding=int.
func splitQuery(raw string) (string, systemQuery) {
	system := systemQuery{}
	var own []string
	for pair := range strings.SplitSeq(raw, "&") {
		if pair == "" {
			continue
		}
		name, value, _ := strings.Cut(pair, "=")
		name, err := url.QueryUnescape(name)
		if bare := strings.TrimPrefix(name, "$"); err == nil && slices.Contains(systemParameters, bare) {
			if text, err := url.QueryUnescape(value); err == nil {
				system[bare] = text
			}
			continue
		}
		if name == "updateMask" || name == "update_mask" {
			pair = camelMask(pair)
		}
		own = append(own, pair)
	}
	return strings.Join(own, "&"), system
}

var snake = regexp.MustCompile(`_[a-z0-9]`)

// camelMask spells the paths of a mask as JSON has them. Google takes them as the
// message has them, too; the transcoder does not.
func camelMask(pair string) string {
	name, value, _ := strings.Cut(pair, "=")
	return name + "=" + snake.ReplaceAllStringFunc(value, func(s string) string { return strings.ToUpper(s[1:]) })
}

// buffer holds the transcoder's answer until it is brought into Google's form.
type buffer struct {
	header http.Header
	code   int
	body   bytes.Buffer
}

func (b *buffer) Header() http.Header         { return b.header }
func (b *buffer) WriteHeader(code int)        { b.code = code }
func (b *buffer) Write(p []byte) (int, error) { return b.body.Write(p) }

// Flush implements http.Flusher, which the transcoder asks for. Calls of one
// answer have nothing to flush.
func (b *buffer) Flush() {}

func (b *buffer) send(w http.ResponseWriter, r *http.Request, compact bool) {
	if b.code >= http.StatusBadRequest {
		writeError(w, b.refusal(r))
		return
	}
	var body bytes.Buffer
	format := func() error { return json.Indent(&body, b.body.Bytes(), "", "  ") }
	if compact {
		format = func() error { return json.Compact(&body, b.body.Bytes()) }
	}
	// The marshaller spaces its output at random, so that nobody relies on it.
	if err := format(); err != nil {
		body = b.body
	}
	setHeaders(w.Header())
	w.WriteHeader(b.code)
	_, _ = w.Write(append(body.Bytes(), '\n'))
}

// unknownParameter is the transcoder's word for a parameter that the method does
// not have.
var unknownParameter = regexp.MustCompile(`^unknown field in field path "([^"]*)"`)

// refusal reads what the transcoder wrote: a status, or a line of text when it
// did not come as far as a method.
func (b *buffer) refusal(r *http.Request) *status.Status {
	st := &spb.Status{}
	if err := (protojson.UnmarshalOptions{Resolver: protoregistry.GlobalTypes, DiscardUnknown: true}).Unmarshal(b.body.Bytes(), st); err != nil {
		text := strings.TrimSpace(b.body.String())
		switch b.code {
		case http.StatusNotFound, http.StatusMethodNotAllowed:
			return status.Newf(codes.NotFound, "The emulator serves no such method: %s %s", r.Method, r.URL.Path)
		case http.StatusUnsupportedMediaType, http.StatusBadRequest:
			return status.New(codes.InvalidArgument, text)
		}
		return status.New(codes.Internal, text)
	}
	if m := unknownParameter.FindStringSubmatch(st.GetMessage()); m != nil {
		return status.Newf(codes.InvalidArgument, "Invalid JSON payload received. Unknown name %q: Cannot bind query parameter. Field '%s' could not be found in request message.", m[1], m[1])
	}
	return status.FromProto(st)
}
