// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package run_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cloud.google.com/go/iam/apiv1/iampb"
	"cloud.google.com/go/run/apiv2/runpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/run"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/runner"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/secretmanager"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/store"
)

const account = "train@demo.iam.gserviceaccount.com"

func mounting(v *runpb.Volume, m *runpb.VolumeMount) func(*runpb.Job) {
	return func(j *runpb.Job) {
		m.Name = v.GetName()
		retries(0)(j)
		withVolumes(v)(j)
		withMounts(m)(j)
		task(j).ServiceAccount = account
	}
}

func TestBucketVolumes(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		volume   *runpb.Volume
		mount    *runpb.VolumeMount
		dir      string // below the bucket's
		readOnly bool
		allowed  []string
	}{
		"whole bucket":  {bucketVolume("v", "ckpt"), &runpb.VolumeMount{MountPath: "/checkpoints"}, "", false, all},
		"full name":     {bucketVolume("v", "projects/demo/buckets/ckpt"), &runpb.VolumeMount{MountPath: "/checkpoints"}, "", false, all},
		"only-dir":      {bucketVolume("v", "ckpt", "implicit-dirs", "only-dir=runs/a"), &runpb.VolumeMount{MountPath: "/checkpoints"}, "runs/a", false, all},
		"sub path":      {bucketVolume("v", "ckpt", "only-dir=runs"), &runpb.VolumeMount{MountPath: "/checkpoints/", SubPath: "b/c"}, "runs/b/c", false, all},
		"viewer only":   {bucketVolume("v", "ckpt"), &runpb.VolumeMount{MountPath: "/checkpoints"}, "", true, all[:2]},
		"read-only":     {&runpb.Volume{Name: "v", VolumeType: &runpb.Volume_Gcs{Gcs: &runpb.GCSVolumeSource{Bucket: "ckpt", ReadOnly: true}}}, &runpb.VolumeMount{MountPath: "/checkpoints"}, "", true, all},
		"may only read": {&runpb.Volume{Name: "v", VolumeType: &runpb.Volume_Gcs{Gcs: &runpb.GCSVolumeSource{Bucket: "ckpt", ReadOnly: true}}}, &runpb.VolumeMount{MountPath: "/checkpoints"}, "", true, all[:2]},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.accounts[account] = true
			dir := w.buckets.add(t, "ckpt", account, tt.allowed...)
			w.create(mounting(tt.volume, tt.mount))
			name, _ := w.run()
			got := w.attempt(name, "0").Task.Mounts
			want := runner.Mount{Path: "/checkpoints", HostDir: filepath.Join(dir, tt.dir), ReadOnly: tt.readOnly}
			if len(got) != 1 || got[0] != want {
				t.Errorf("mounts %v, want %v", got, want)
			}
			if info, err := os.Stat(want.HostDir); err != nil || !info.IsDir() {
				t.Errorf("no such folder: %v", err)
			}
		})
	}
}

var all = []string{"get", "list", "create", "delete"}

// case 109 and case 110: a mount that fails keeps the container from starting,
// and is told apart from a program that fails.
func TestMountFailures(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		behaviour run.Behaviour
		prepare   func(t *testing.T, w *world)
		code      codes.Code
		text      string
	}{
		"no bucket": {
			prepare: func(*testing.T, *world) {}, code: codes.Aborted,
			text: `mounting volume "v" at /checkpoints failed: bucket "ckpt" does not exist`,
		},
		"no grant": {
			prepare: func(t *testing.T, w *world) { w.buckets.add(t, "ckpt", "other@demo.iam.gserviceaccount.com", all...) }, code: codes.Aborted,
			text: account + ` does not have storage.objects.list access to the bucket "ckpt"`,
		},
		"may only create": {
			prepare: func(t *testing.T, w *world) { w.buckets.add(t, "ckpt", account, "create") }, code: codes.Aborted,
			text: "storage.objects.list",
		},
		"no bucket, internal": {
			behaviour: run.Behaviour{StartFailure: run.StartFailureInternal}, prepare: func(*testing.T, *world) {},
			code: codes.Internal, text: "Internal error.",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, behaving(tt.behaviour))
			w.accounts[account] = true
			tt.prepare(t, w)
			w.create(mounting(bucketVolume("v", "ckpt"), &runpb.VolumeMount{MountPath: "/checkpoints"}))
			name, op := w.run()
			e := w.finished(name)
			if n := len(w.launcher.Attempts()); n != 0 {
				t.Errorf("%d attempts were launched", n)
			}
			if s := condition(e.GetConditions(), "Started").GetState(); s != reconciling {
				t.Errorf("Started is %v", s)
			}
			if got := w.task(name, "0"); got.GetStartTime() != nil || condition(got.GetConditions(), "Started").GetState() != pending {
				t.Errorf("the task has started: %v", got)
			}
			r := w.task(name, "0").GetLastAttemptResult()
			if r.GetExitCode() != 0 || r.GetTermSignal() != 0 || codes.Code(r.GetStatus().GetCode()) != tt.code || !contains(r.GetStatus().GetMessage(), tt.text) {
				t.Errorf("lastAttemptResult: %v", r)
			}
			if codes.Code(w.done(op).GetError().GetCode()) != tt.code {
				t.Errorf("operation: %v", w.done(op))
			}
			logs := w.logs.all(systemLog)
			if len(logs) != 1 || !contains(logs[0].GetTextPayload(), `mounting volume "v"`) {
				t.Errorf("the log does not say why: %v", logs)
			}
		})
	}
}

// A grant that comes between two attempts lets the second start.
func TestMountAfterTheGrant(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.accounts[account] = true
	w.create(mounting(bucketVolume("v", "ckpt"), &runpb.VolumeMount{MountPath: "/checkpoints"}))
	name, _ := w.run()
	w.finished(name)
	w.buckets.add(t, "ckpt", account, all...)
	name, _ = w.run()
	w.attempt(name, "0").Exit(0)
	if w.finished(name).GetSucceededCount() != 1 {
		t.Error("it did not start")
	}
}

func TestScratchVolumes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(retries(1),
		withVolumes(emptyVolume("tmp"), &runpb.Volume{Name: "nfs", VolumeType: &runpb.Volume_Nfs{Nfs: &runpb.NFSVolumeSource{Server: "10.0.0.2", Path: "/vol/a", ReadOnly: true}}}),
		withMounts(
			&runpb.VolumeMount{Name: "tmp", MountPath: "/scratch"}, &runpb.VolumeMount{Name: "tmp", MountPath: "/again", SubPath: "x"},
			&runpb.VolumeMount{Name: "nfs", MountPath: "/nfs"},
		))
	name, _ := w.run()
	a := w.attempt(name, "0")
	first := a.Task.Mounts
	if len(first) != 3 || first[1].HostDir != filepath.Join(first[0].HostDir, "x") || !first[2].ReadOnly {
		t.Fatalf("mounts %v", first)
	}
	if err := os.WriteFile(filepath.Join(first[0].HostDir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	a.Exit(1)
	a = w.attempt(name, "0")
	second := a.Task.Mounts
	if second[0].HostDir == first[0].HostDir || second[2].HostDir != first[2].HostDir {
		t.Errorf("an empty folder lives as long as an attempt, NFS longer: %v, %v", first, second)
	}
	a.Exit(0)
	w.finished(name)
	if _, err := os.Stat(first[0].HostDir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder of the first attempt is still there: %v", err)
	}
}

// secretBook holds payloads by secret@version@reader. A version that another may
// read is denied, any other is not there.
type secretBook map[string]string

func (b secretBook) Access(secret, version, member string) ([]byte, error) {
	if payload, ok := b[secret+"@"+version+"@"+member]; ok {
		return []byte(payload), nil
	}
	for key := range b {
		if strings.HasPrefix(key, secret+"@"+version+"@") {
			return nil, status.Error(codes.PermissionDenied, "denied")
		}
	}
	return nil, status.Error(codes.NotFound, "no secret "+secret)
}

func TestSecrets(t *testing.T) {
	t.Parallel()
	job := func(j *runpb.Job) {
		mounting(&runpb.Volume{Name: "v", VolumeType: &runpb.Volume_Secret{Secret: &runpb.SecretVolumeSource{
			Secret: "conf", Items: []*runpb.VersionToPath{{Path: "a/b", Version: "2", Mode: 0o600}},
		}}}, &runpb.VolumeMount{MountPath: "/conf"})(j)
		withEnv(&runpb.EnvVar{Name: "KEY", Values: &runpb.EnvVar_ValueSource{ValueSource: &runpb.EnvVarSource{
			SecretKeyRef: &runpb.SecretKeySelector{Secret: "projects/other/secrets/key"},
		}}})(j)
	}
	who := "@serviceAccount:" + account
	w := newWorld(t, func(o *run.Options) {
		o.Secrets = secretBook{"projects/other/secrets/key@latest" + who: "sesame", "projects/" + store.ProjectNumber(project) + "/secrets/conf@2" + who: "x = 1"}
	})
	w.accounts[account] = true
	w.create(job)
	name, _ := w.run()
	a := w.attempt(name, "0")
	if got := envOf(a, "KEY"); got != "sesame" {
		t.Errorf("KEY is %q", got)
	}
	file := filepath.Join(a.Task.Mounts[0].HostDir, "a", "b")
	content, err := os.ReadFile(file)
	if err != nil || string(content) != "x = 1" || !a.Task.Mounts[0].ReadOnly {
		t.Errorf("file %q (%v), mount %v", content, err, a.Task.Mounts[0])
	}
	if info, err := os.Stat(file); err == nil && info.Mode().Perm() != 0o400 {
		t.Errorf("mode %v: a umask of 0222 applies", info.Mode())
	}
	a.Exit(0)
	w.finished(name)

	w = newWorld(t)
	w.accounts[account] = true
	w.create(job)
	name, _ = w.run()
	w.finished(name)
	text := w.task(name, "0").GetLastAttemptResult().GetStatus().GetMessage()
	if !strings.Contains(text, "environment variable KEY") || !strings.Contains(text, "projects/other/secrets/key") {
		t.Errorf("message %q", text)
	}
}

// Each attempt reads what is there when it starts: the newest version, and only
// while the policy of the secret lets it.
func TestSecretsOfEachAttempt(t *testing.T) {
	t.Parallel()
	st := store.Memory()
	secrets := secretmanager.New(st, nil, nil)
	const full = "projects/" + project + "/secrets/key"
	add := func(payload string) {
		t.Helper()
		if _, err := secrets.AddSecret(project, "key", []byte(payload)); err != nil {
			t.Fatal(err)
		}
	}
	grant := func(members ...string) {
		t.Helper()
		if _, err := secrets.SetIamPolicy(t.Context(), &iampb.SetIamPolicyRequest{Resource: full, Policy: &iampb.Policy{
			Bindings: []*iampb.Binding{{Role: "roles/secretmanager.secretAccessor", Members: members}},
		}}); err != nil {
			t.Fatal(err)
		}
	}
	add("one")
	grant("serviceAccount:" + account)
	w := newWorldOn(t, st, func(o *run.Options) { o.Secrets = secrets })
	w.accounts[account] = true
	w.create(mounting(&runpb.Volume{Name: "v", VolumeType: &runpb.Volume_Secret{Secret: &runpb.SecretVolumeSource{Secret: "key"}}}, &runpb.VolumeMount{MountPath: "/conf"}),
		withEnv(&runpb.EnvVar{Name: "KEY", Values: &runpb.EnvVar_ValueSource{ValueSource: &runpb.EnvVarSource{SecretKeyRef: &runpb.SecretKeySelector{Secret: "key"}}}}),
		retries(3))
	name, _ := w.run()
	seen := func() string {
		t.Helper()
		a := w.attempt(name, "0")
		file, err := os.ReadFile(filepath.Join(a.Task.Mounts[0].HostDir, "key"))
		if err != nil {
			t.Fatal(err)
		}
		env := envOf(a, "KEY")
		switch env {
		case "one":
			add("two")
		case "two":
			add("three\xff")
		}
		a.Exit(1)
		return env + " " + string(file)
	}
	for _, want := range []string{"one one", "two two"} {
		if got := seen(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	w.finished(name)
	text := w.task(name, "0").GetLastAttemptResult().GetStatus().GetMessage()
	if !contains(text, "environment variable KEY: secret key contains non-UTF8 data") || contains(text, "three") {
		t.Errorf("message %q", text)
	}

	add("four")
	grant()
	name, _ = w.run()
	w.finished(name)
	text = w.task(name, "0").GetLastAttemptResult().GetStatus().GetMessage()
	if !contains(text, "environment variable KEY: secret projects/"+store.ProjectNumber(project)+"/secrets/key/versions/latest: Permission 'secretmanager.versions.access' denied") ||
		contains(text, "rpc error") || contains(text, "four") {
		t.Errorf("message %q", text)
	}
}

// case 26, case 35: a job whose secrets are missing or closed to its account is
// made all the same, and its operation names each of them.
func TestSecretsAtCreate(t *testing.T) {
	t.Parallel()
	number := "projects/" + store.ProjectNumber(project) + "/secrets/"
	env := func(name, secret, version string) func(*runpb.Job) {
		return func(j *runpb.Job) {
			task(j).ServiceAccount = account
			task(j).Containers[0].Env = append(task(j).Containers[0].Env, &runpb.EnvVar{
				Name: name, Values: &runpb.EnvVar_ValueSource{ValueSource: &runpb.EnvVarSource{
					SecretKeyRef: &runpb.SecretKeySelector{Secret: secret, Version: version},
				}},
			})
		}
	}
	volume := mounting(&runpb.Volume{Name: "v", VolumeType: &runpb.Volume_Secret{Secret: &runpb.SecretVolumeSource{Secret: "gone"}}},
		&runpb.VolumeMount{MountPath: "/conf"})
	book := secretBook{
		number + "open@latest@serviceAccount:" + account:   "a",
		number + "closed@latest@serviceAccount:else":       "b",
		"projects/other/secrets/closed@3@serviceAccount:x": "c",
	}
	denied := func(at, secret, version string) string {
		return "spec.template.spec." + at + ": Permission denied on secret: " + secret + "/versions/" + version + " for Revision service account " + account +
			". The service account used must be granted the 'Secret Manager Secret Accessor' role (roles/secretmanager.secretAccessor) at the secret, project or higher level."
	}
	const key = ".value_from.secret_key_ref.name"
	for name, c := range map[string]struct {
		change []func(*runpb.Job)
		code   codes.Code
		text   string
	}{
		"readable": {[]func(*runpb.Job){env("A", "open", "")}, codes.OK, ""},
		"closed": {[]func(*runpb.Job){env("A", "open", "latest"), env("B", "closed", "latest"), env("C", "projects/other/secrets/closed", "3")}, codes.Internal,
			denied("containers[0].env[1]"+key, number+"closed", "latest") + "\n" + denied("containers[0].env[2]"+key, "projects/other/secrets/closed", "3")},
		"missing": {[]func(*runpb.Job){env("A", "projects/other/secrets/gone", "7"), volume}, codes.FailedPrecondition,
			"spec.template.spec.containers[0].env[0]" + key + ": Secret projects/" + store.ProjectNumber("other") + "/secrets/gone/versions/7 was not found\n" +
				"spec.template.spec.volumes[0].secret.items[0].key: Secret " + number + "gone/versions/latest was not found"},
		"both": {[]func(*runpb.Job){env("A", "closed", ""), volume}, codes.FailedPrecondition,
			denied("containers[0].env[0]"+key, number+"closed", "latest") + "\nspec.template.spec.volumes[0].secret.items[0].key: Secret " + number + "gone/versions/latest was not found"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, func(o *run.Options) { o.Secrets = book })
			w.accounts[account] = true
			op, err := w.CreateJob(w.ctx, &runpb.CreateJobRequest{Parent: parent, JobId: jobID, Job: aJob(c.change...)})
			if err != nil {
				t.Fatal(err)
			}
			end := w.done(op)
			if codes.Code(end.GetError().GetCode()) != c.code || end.GetError().GetMessage() != c.text { //nolint:gosec // a code
				t.Errorf("ended with %v\n%s\nwant %v\n%s", end.GetError().GetCode(), end.GetError().GetMessage(), c.code, c.text)
			}
			ready := w.Job(jobFull).GetTerminalCondition()
			if c.code == codes.OK {
				if ready.GetState() != runpb.Condition_CONDITION_SUCCEEDED {
					t.Errorf("ready: %v", ready)
				}
				return
			}
			if ready.GetState() != runpb.Condition_CONDITION_FAILED || ready.GetReason() != runpb.Condition_SECRETS_ACCESS_CHECK_FAILED || ready.GetMessage() != c.text {
				t.Errorf("ready: %v", ready)
			}
		})
	}
}

func TestSeveralContainersDoNotStart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(retries(0), func(j *runpb.Job) {
		task(j).Containers = []*runpb.Container{{Name: "main", Image: anImage}, {Name: "side", Image: anImage}}
	})
	name, _ := w.run()
	w.finished(name)
	if text := w.task(name, "0").GetLastAttemptResult().GetStatus().GetMessage(); !contains(text, "exactly one container") {
		t.Errorf("message %q", text)
	}
}
