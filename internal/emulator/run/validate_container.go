// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package run

import (
	"fmt"
	"path"
	"regexp"
	"strings"

	"cloud.google.com/go/run/apiv2/runpb"
)

const (
	maxEnv      = 1000
	maxEnvBytes = 32768
)

var (
	identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	dnsLabel   = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)
)

// reservedEnv are the names that the container contract of jobs sets itself.
var reservedEnv = map[string]bool{
	"CLOUD_RUN_JOB": true, "CLOUD_RUN_EXECUTION": true, "CLOUD_RUN_TASK_INDEX": true,
	"CLOUD_RUN_TASK_ATTEMPT": true, "CLOUD_RUN_TASK_COUNT": true, "PORT": true,
}

func checkContainers(at string, t *runpb.TaskTemplate) error {
	names := map[string]bool{}
	for i, c := range t.GetContainers() {
		field := fmt.Sprintf("%s.containers[%d]", at, i)
		switch {
		case c.GetImage() == "":
			return invalid(field+".image", "Required field not specified.")
		case c.GetName() != "" && !dnsLabel.MatchString(c.GetName()):
			return invalid(field+".name", "Must be a DNS label.")
		case c.GetName() == "" && len(t.GetContainers()) > 1:
			return invalid(field+".name", "Containers must be named when there is more than one.")
		case c.GetName() != "" && names[c.GetName()]:
			return invalid(field+".name", "Duplicate container name %q.", c.GetName())
		case c.GetSourceCode() != nil:
			return invalid(field+".source_code", "This field is only supported in Cloud Run Service.")
		case c.GetBaseImageUri() != "":
			return invalid(field+".base_image_uri", "This field is only supported for services.")
		}
		names[c.GetName()] = true
		if err := checkEnv(field+".env", c.GetEnv()); err != nil {
			return err
		}
		if err := checkMounts(field, c.GetVolumeMounts(), t.GetVolumes()); err != nil {
			return err
		}
		if w := c.GetWorkingDir(); w != "" && !path.IsAbs(w) {
			return invalid(field+".working_dir", "Must be an absolute path.")
		}
	}
	return nil
}

func checkEnv(field string, env []*runpb.EnvVar) error {
	if len(env) > maxEnv {
		return invalid(field, "At most %d environment variables are allowed.", maxEnv)
	}
	seen := map[string]bool{}
	var reserved []string
	for i, e := range env {
		at := fmt.Sprintf("%s[%d]", field, i)
		name := e.GetName()
		switch {
		case name == "":
			return invalid(at+".name", "Required field not specified.")
		case len(name) > maxEnvBytes || !identifier.MatchString(name):
			return invalid(at+".name", "Environment variable names must be C identifiers.")
		case strings.HasPrefix(name, "X_GOOGLE_"):
			return invalid(at+".name", "Environment variable names must not begin with X_GOOGLE_.")
		case seen[name]:
			return invalid(at+".name", "Duplicate environment variable %q.", name)
		case len(e.GetValue()) > maxEnvBytes:
			return invalid(at+".value", "Must be at most %d bytes.", maxEnvBytes)
		}
		seen[name] = true
		if reservedEnv[name] {
			reserved = append(reserved, name)
		}
		if source := e.GetValueSource(); source != nil && source.GetSecretKeyRef().GetSecret() == "" {
			return invalid(at+".value_source.secret_key_ref.secret", "Required field not specified.")
		}
	}
	if len(reserved) > 0 {
		return invalid(field, "The following reserved env names were provided: %s. These values are automatically set by the system.",
			strings.Join(reserved, ", "))
	}
	return nil
}

func checkMounts(at string, mounts []*runpb.VolumeMount, volumes []*runpb.Volume) error {
	byName := map[string]*runpb.Volume{}
	for _, v := range volumes {
		byName[v.GetName()] = v
	}
	seen := map[string]bool{}
	for i, m := range mounts {
		field := fmt.Sprintf("%s.volume_mounts[%d]", at, i)
		volume := byName[m.GetName()]
		if volume == nil {
			return invalid(field+".name", "No volume is named %q.", m.GetName())
		}
		if err := checkMountPath(field+".mount_path", m.GetMountPath()); err != nil {
			return err
		}
		clean := path.Clean(m.GetMountPath())
		if seen[clean] {
			return invalid(field+".mount_path", "Duplicate mount path %q.", m.GetMountPath())
		}
		seen[clean] = true
		if m.GetSubPath() != "" && volume.GetSecret() != nil {
			return invalid(field+".sub_path", "This field is not supported for secret volumes.")
		}
		if escapes(m.GetSubPath()) {
			return invalid(field+".sub_path", "Must be a relative path inside the volume.")
		}
	}
	return nil
}

func checkMountPath(field, p string) error {
	clean := path.Clean(p)
	switch {
	case !path.IsAbs(p):
		return invalid(field, "Must be an absolute path.")
	case strings.Contains(p, ":"):
		return invalid(field, "Must not contain ':'.")
	case clean == "/":
		return invalid(field, "Must not be the root of the file system.")
	}
	for _, reserved := range []string{"/dev", "/proc", "/sys"} {
		if clean == reserved || strings.HasPrefix(clean, reserved+"/") {
			return invalid(field, "Must not be %s or below it.", reserved)
		}
	}
	return nil
}

// escapes reports whether a relative path leaves the folder it is in.
func escapes(p string) bool {
	return path.IsAbs(p) || p != "" && !strings.HasPrefix(path.Join("/x", p)+"/", "/x/")
}

func checkVolumes(at string, t *runpb.TaskTemplate) error {
	names := map[string]bool{}
	for i, v := range t.GetVolumes() {
		field := fmt.Sprintf("%s.volumes[%d]", at, i)
		switch {
		case !dnsLabel.MatchString(v.GetName()):
			return invalid(field+".name", "Must be a DNS label.")
		case names[v.GetName()]:
			return invalid(field+".name", "Duplicate volume name %q.", v.GetName())
		}
		names[v.GetName()] = true
		if err := checkVolumeSource(field, v); err != nil {
			return err
		}
	}
	return nil
}

func checkVolumeSource(field string, v *runpb.Volume) error {
	switch source := v.GetVolumeType().(type) {
	case *runpb.Volume_Gcs:
		if source.Gcs.GetBucket() == "" {
			return invalid(field+".gcs.bucket", "Required field not specified.")
		}
		for j, option := range source.Gcs.GetMountOptions() {
			if strings.HasPrefix(option, "-") {
				return invalid(fmt.Sprintf("%s.gcs.mount_options[%d]", field, j), "Must be specified without leading dashes.")
			}
			if dir, ok := onlyDir(option); ok && escapes(dir) {
				return invalid(fmt.Sprintf("%s.gcs.mount_options[%d]", field, j), "Must be a relative path inside the bucket.")
			}
		}
	case *runpb.Volume_Nfs:
		if source.Nfs.GetServer() == "" || !path.IsAbs(source.Nfs.GetPath()) {
			return invalid(field+".nfs", "Server and an absolute path are required.")
		}
	case *runpb.Volume_EmptyDir:
		if limit := source.EmptyDir.GetSizeLimit(); limit != "" && !isQuantity(limit) {
			return invalid(field+".empty_dir.size_limit", "Invalid quantity %q.", limit)
		}
	case *runpb.Volume_Secret:
		if source.Secret.GetSecret() == "" {
			return invalid(field+".secret.secret", "Required field not specified.")
		}
		if mode := source.Secret.GetDefaultMode(); mode < 0 || mode > 0o777 {
			return invalid(field+".secret.default_mode", "Must be between 0000 and 0777.")
		}
		for j, item := range source.Secret.GetItems() {
			if item.GetPath() == "" || escapes(item.GetPath()) || item.GetVersion() == "" {
				return invalid(fmt.Sprintf("%s.secret.items[%d]", field, j), "A relative path and a version are required.")
			}
		}
	case *runpb.Volume_CloudSqlInstance:
		if len(source.CloudSqlInstance.GetInstances()) == 0 {
			return invalid(field+".cloud_sql_instance.instances", "Required field not specified.")
		}
	default:
		return invalid(field, "Exactly one kind of volume is required.")
	}
	return nil
}

// onlyDir returns the folder of the gcsfuse option only-dir.
func onlyDir(option string) (string, bool) {
	name, value, found := strings.Cut(option, "=")
	if !found || strings.ReplaceAll(name, "_", "-") != "only-dir" {
		return "", false
	}
	return value, true
}
