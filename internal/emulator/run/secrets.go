// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package run

import (
	"fmt"
	"strings"

	"cloud.google.com/go/run/apiv2/runpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/store"
)

// secretReference is one place of a job that names a version of a secret.
type secretReference struct {
	path    string // of the v1 API, as the platform's errors have it
	secret  string // projects/P/secrets/S
	version string
}

// secretItems are the files of a secret volume; without any it is one file of
// the secret's name with the newest version.
func secretItems(v *runpb.SecretVolumeSource) []*runpb.VersionToPath {
	if items := v.GetItems(); len(items) > 0 {
		return items
	}
	return []*runpb.VersionToPath{{Path: shortName(v.GetSecret()), Version: latestVersion}}
}

const latestVersion = "latest"

// fullSecret is the full name of a secret that a job names. A short name is one
// of the job's own project, which the platform then shows by its number.
func fullSecret(project, secret string) string {
	if strings.Contains(secret, "/") {
		return secret
	}
	return "projects/" + store.ProjectNumber(project) + "/secrets/" + secret
}

func orLatest(version string) string {
	if version == "" {
		return latestVersion
	}
	return version
}

// secretReferences returns every place of the job that names a secret.
func secretReferences(project string, t *runpb.TaskTemplate) []secretReference {
	var all []secretReference
	for i, c := range t.GetContainers() {
		for j, e := range c.GetEnv() {
			if ref := e.GetValueSource().GetSecretKeyRef(); ref != nil {
				all = append(all, secretReference{
					path:   fmt.Sprintf("spec.template.spec.containers[%d].env[%d].value_from.secret_key_ref.name", i, j),
					secret: fullSecret(project, ref.GetSecret()), version: orLatest(ref.GetVersion()),
				})
			}
		}
	}
	for i, v := range t.GetVolumes() {
		source := v.GetSecret()
		if source == nil {
			continue
		}
		for j, item := range secretItems(source) {
			all = append(all, secretReference{
				path:   fmt.Sprintf("spec.template.spec.volumes[%d].secret.items[%d].key", i, j),
				secret: fullSecret(project, source.GetSecret()), version: orLatest(item.GetVersion()),
			})
		}
	}
	return all
}

// secretFault is the error with which a job fails to become ready because of the
// secrets that it names: a line for each reference that is wrong. A version that
// is not there outweighs one that may not be read.
func (s *Service) secretFault(project string, t *runpb.TaskTemplate) *status.Status {
	if s.o.Secrets == nil {
		return nil
	}
	code, lines := codes.Internal, []string(nil)
	for _, ref := range secretReferences(project, t) {
		_, err := s.o.Secrets.Access(ref.secret, ref.version, "serviceAccount:"+t.GetServiceAccount())
		if err == nil {
			continue
		}
		st := status.Convert(err)
		text := st.Message()
		switch st.Code() {
		case codes.PermissionDenied:
			text = fmt.Sprintf("Permission denied on secret: %s/versions/%s for Revision service account %s. The service account used must be granted the 'Secret Manager Secret Accessor' role (roles/secretmanager.secretAccessor) at the secret, project or higher level.",
				ref.secret, ref.version, t.GetServiceAccount())
		case codes.NotFound:
			code = codes.FailedPrecondition
			text = fmt.Sprintf("Secret %s/versions/%s was not found", byNumber(ref.secret), ref.version)
		default: // disabled, destroyed, or no name of a secret
			code = codes.FailedPrecondition
		}
		lines = append(lines, ref.path+": "+text)
	}
	if lines == nil {
		return nil
	}
	return status.New(code, strings.Join(lines, "\n"))
}

// byNumber names a secret with its project's number.
func byNumber(secret string) string {
	parts := strings.Split(secret, "/")
	if len(parts) == 4 && parts[0] == "projects" {
		parts[1] = store.ProjectNumber(parts[1])
	}
	return strings.Join(parts, "/")
}
