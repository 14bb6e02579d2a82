// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package run

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"cloud.google.com/go/run/apiv2/runpb"
	"google.golang.org/grpc/status"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/runner"
)

// Permissions that a Cloud Storage mount needs: without the first it fails,
// without the second it is read-only. Reading is not asked for on the bucket: it
// may be granted on the objects.
const (
	mountPermission = "storage.objects.list"
	writePermission = "storage.objects.create"
)

// prepare builds what the launcher gets: environment, mounts, image. The cleanup
// is never nil.
func (s *Service) prepare(x *driven, a *attempt, t *runpb.TaskTemplate, count int) (runner.Task, func(), error) {
	scratch := scratchFolder{under: s.scratch()}
	if len(t.GetContainers()) != 1 {
		return runner.Task{}, scratch.remove, errors.New("the emulator runs jobs with exactly one container")
	}
	c := t.GetContainers()[0]
	task := runner.Task{
		Name:       a.task.task,
		Image:      x.images[0],
		Command:    c.GetCommand(),
		Args:       c.GetArgs(),
		WorkingDir: c.GetWorkingDir(),
		Timeout:    t.GetTimeout().AsDuration(),
		Clock:      s.o.Clock,
	}
	for _, e := range c.GetEnv() {
		value := e.GetValue()
		if ref := e.GetValueSource().GetSecretKeyRef(); ref != nil {
			payload, err := s.secret(a, t, ref.GetSecret(), ref.GetVersion())
			if err != nil {
				return runner.Task{}, scratch.remove, fmt.Errorf("environment variable %s: %w", e.GetName(), err)
			}
			if !utf8.Valid(payload) {
				return runner.Task{}, scratch.remove, fmt.Errorf("environment variable %s: secret %s contains non-UTF8 data", e.GetName(), ref.GetSecret())
			}
			value = string(payload)
		}
		task.Env = append(task.Env, e.GetName()+"="+value)
	}
	task.Env = append(task.Env, taskEnv(a, count)...)
	volumes := map[string]*runpb.Volume{}
	for _, v := range t.GetVolumes() {
		volumes[v.GetName()] = v
	}
	dirs := map[string]runner.Mount{} // by volume: mounted twice it is the same folder
	for _, m := range c.GetVolumeMounts() {
		mount, ok := dirs[m.GetName()]
		if !ok {
			var err error
			if mount, err = s.volume(a, t, volumes[m.GetName()], &scratch); err != nil {
				return runner.Task{}, scratch.remove, fmt.Errorf("mounting volume %q at %s failed: %w", m.GetName(), m.GetMountPath(), err)
			}
			dirs[m.GetName()] = mount
		}
		mount.Path = path.Clean(m.GetMountPath())
		if m.GetSubPath() != "" {
			mount.HostDir = filepath.Join(mount.HostDir, filepath.FromSlash(m.GetSubPath()))
			if err := os.MkdirAll(mount.HostDir, 0o755); err != nil {
				return runner.Task{}, scratch.remove, fmt.Errorf("mounting volume %q at %s failed: %w", m.GetName(), m.GetMountPath(), err)
			}
		}
		task.Mounts = append(task.Mounts, mount)
	}
	return task, scratch.remove, nil
}

// volume finds or makes the folder of the host that stands for a volume.
func (s *Service) volume(a *attempt, t *runpb.TaskTemplate, v *runpb.Volume, scratch *scratchFolder) (runner.Mount, error) {
	switch source := v.GetVolumeType().(type) {
	case *runpb.Volume_Gcs:
		return s.bucketVolume(t, source.Gcs)
	case *runpb.Volume_Nfs:
		// There is no NFS client here: all tasks share a folder per exported path.
		dir := filepath.Join(s.o.Store.Root(), "run", "nfs", fileName(source.Nfs.GetServer()), fileName(source.Nfs.GetPath()))
		return runner.Mount{HostDir: dir, ReadOnly: source.Nfs.GetReadOnly()}, os.MkdirAll(dir, 0o755)
	case *runpb.Volume_Secret:
		dir, err := scratch.folder()
		if err != nil {
			return runner.Mount{}, err
		}
		return runner.Mount{HostDir: dir, ReadOnly: true}, s.writeSecrets(a, t, source.Secret, dir)
	default: // an empty folder for each attempt; Cloud SQL has no sockets here
		dir, err := scratch.folder()
		return runner.Mount{HostDir: dir}, err
	}
}

// bucketVolume mounts a bucket, or the folder of it that only-dir names.
func (s *Service) bucketVolume(t *runpb.TaskTemplate, source *runpb.GCSVolumeSource) (runner.Mount, error) {
	bucket := shortName(source.GetBucket())
	member := "serviceAccount:" + t.GetServiceAccount()
	if s.o.Buckets == nil || !s.o.Buckets.Exists(bucket) {
		return runner.Mount{}, fmt.Errorf("bucket %q does not exist", bucket)
	}
	if !s.o.Buckets.Allowed(bucket, member, mountPermission) {
		return runner.Mount{}, fmt.Errorf("%s does not have %s access to the bucket %q", t.GetServiceAccount(), mountPermission, bucket)
	}
	dir, ok := s.o.Buckets.Dir(bucket)
	if !ok {
		return runner.Mount{}, fmt.Errorf("bucket %q does not exist", bucket)
	}
	for _, option := range source.GetMountOptions() {
		if prefix, ok := onlyDir(option); ok {
			dir = filepath.Join(dir, filepath.FromSlash(prefix))
		}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return runner.Mount{}, err
	}
	readOnly := source.GetReadOnly() || !s.o.Buckets.Allowed(bucket, member, writePermission)
	return runner.Mount{HostDir: dir, ReadOnly: readOnly}, nil
}

// secret reads one secret version as the task's account.
func (s *Service) secret(a *attempt, t *runpb.TaskTemplate, secret, version string) ([]byte, error) {
	secret, version = fullSecret(a.task.project, secret), orLatest(version)
	if s.o.Secrets == nil {
		return nil, fmt.Errorf("the emulator has no Secret Manager, so %s/versions/%s cannot be read", secret, version)
	}
	payload, err := s.o.Secrets.Access(secret, version, "serviceAccount:"+t.GetServiceAccount())
	if err != nil {
		return nil, fmt.Errorf("secret %s/versions/%s: %s", secret, version, status.Convert(err).Message())
	}
	return payload, nil
}

// writeSecrets fills the folder of a secret volume.
func (s *Service) writeSecrets(a *attempt, t *runpb.TaskTemplate, v *runpb.SecretVolumeSource, dir string) error {
	for _, item := range secretItems(v) {
		payload, err := s.secret(a, t, v.GetSecret(), item.GetVersion())
		if err != nil {
			return err
		}
		file := filepath.Join(dir, filepath.FromSlash(item.GetPath()))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		mode := os.FileMode(0o444)
		if m := max(item.GetMode(), 0); m != 0 {
			mode = os.FileMode(m)
		} else if m := max(v.GetDefaultMode(), 0); m != 0 {
			mode = os.FileMode(m)
		}
		if err := os.WriteFile(file, payload, mode&^0o222); err != nil {
			return err
		}
	}
	return nil
}

// scratch is where the folders of attempts are made.
func (s *Service) scratch() string { return filepath.Join(s.o.Store.Root(), "run", "scratch") }

// scratchFolder holds what lives as long as one attempt.
type scratchFolder struct {
	under string
	made  []string
}

func (f *scratchFolder) folder() (string, error) {
	if err := os.MkdirAll(f.under, 0o755); err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp(f.under, "volume-")
	if err == nil {
		f.made = append(f.made, dir)
		err = os.Chmod(dir, 0o755)
	}
	return dir, err
}

func (f *scratchFolder) remove() {
	for _, dir := range f.made {
		_ = os.RemoveAll(dir) // what cannot be removed lies in the emulator's own folder
	}
}

// fileName makes one path segment of any text.
func fileName(text string) string {
	return strings.NewReplacer("/", "_", "\\", "_", ":", "_", "..", "_").Replace(text)
}
