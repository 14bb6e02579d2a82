// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package run

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"cloud.google.com/go/run/apiv2/runpb"
	"google.golang.org/genproto/googleapis/api"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/durationpb"
)

const (
	maxTaskCount = 10000
	maxRetries   = 10
	maxTimeout   = 168 * time.Hour
	maxLabels    = 64
)

// systemNamespaces are the label and annotation namespaces that v2 rejects.
var systemNamespaces = []string{"run.googleapis.com", "cloud.googleapis.com", "serving.knative.dev", "autoscaling.knative.dev"}

// validate checks a job whose defaults are filled in. Only what the documents
// say is refused; texts that no public material shows are this emulator's own.
func (s *Service) validate(n jobName, job *runpb.Job) error {
	if err := checkMetadata("", job.GetLabels(), job.GetAnnotations()); err != nil {
		return err
	}
	if err := checkMetadata("template.", job.GetTemplate().GetLabels(), job.GetTemplate().GetAnnotations()); err != nil {
		return err
	}
	if err := s.checkStage(n, job); err != nil {
		return err
	}
	if token := executionToken(job); token != "" {
		if len(n.job)+len(token) >= 63 {
			return invalid(tokenField(job), "The sum of job name and token length must be fewer than 63 characters.")
		}
		if !tokenForm.MatchString(token) {
			return invalid(tokenField(job), "The token must consist of lowercase letters, digits and dashes, and end with a letter or digit.")
		}
	}
	t := job.GetTemplate()
	if err := checkTaskCount("template.task_count", t.GetTaskCount()); err != nil {
		return err
	}
	if p := t.GetParallelism(); p < 0 || p > t.GetTaskCount() {
		return invalid("template.parallelism", "Parallelism must be between 0 and the task count, %d.", t.GetTaskCount())
	}
	return s.validateTask(n, "template.template", t.GetTemplate())
}

func (s *Service) validateTask(n jobName, path string, t *runpb.TaskTemplate) error {
	if len(t.GetContainers()) == 0 {
		return invalid(path+".containers", "At least one container is required.")
	}
	if r := t.GetMaxRetries(); r < 0 || r > maxRetries {
		return invalid(path+".max_retries", "Must be between 0 and %d.", maxRetries)
	}
	if err := checkTimeout(path+".timeout", t.GetTimeout()); err != nil {
		return err
	}
	if t.GetExecutionEnvironment() == runpb.ExecutionEnvironment_EXECUTION_ENVIRONMENT_GEN1 {
		return invalid("template.annotations", "Annotation 'run.googleapis.com/execution-environment' with value 'gen1' is not supported on resources of kind Execution.")
	}
	if err := checkVolumes(path, t); err != nil {
		return err
	}
	if err := checkContainers(path, t); err != nil {
		return err
	}
	return s.checkResources(n, path, t)
}

func (s *Service) checkStage(n jobName, job *runpb.Job) error {
	switch job.GetLaunchStage() {
	case api.LaunchStage_ALPHA, api.LaunchStage_BETA:
		return nil
	case api.LaunchStage_GA:
	default:
		return invalid("launch_stage", "Unsupported launch stage %s: want ALPHA, BETA or GA.", job.GetLaunchStage())
	}
	if stage, feature := s.neededStage(job); stage != api.LaunchStage_GA {
		return failure(codes.InvalidArgument, "The feature '%s' is not supported in the declared launch stage on resource %s. The launch stage annotation should be specified at least as %s.",
			feature, n.job, stage)
	}
	return nil
}

func checkTaskCount(path string, n int32) error {
	if n < 1 || n > maxTaskCount {
		return invalid(path, "Must be between 1 and %d.", maxTaskCount)
	}
	return nil
}

func checkTimeout(path string, d *durationpb.Duration) error {
	if d.CheckValid() != nil || d.AsDuration() <= 0 || d.AsDuration() > maxTimeout {
		return invalid(path, "Must be greater than 0 and at most %d seconds.", int64(maxTimeout.Seconds()))
	}
	return nil
}

// checkMetadata applies the namespace rule, and the usual form of labels.
func checkMetadata(path string, labels, annotations map[string]string) error {
	if len(labels) > maxLabels {
		return invalid(path+"labels", "At most %d labels are allowed.", maxLabels)
	}
	for _, key := range sortedKeys(labels) {
		field := fmt.Sprintf("%slabels[%s]", path, key)
		if err := checkNamespace(field, "label", key); err != nil {
			return err
		}
		if key == "" || len(key) > 63 || !labelText(key) {
			return invalid(field, "Label keys must be 1 to 63 lowercase letters, digits, underscores and dashes.")
		}
		if v := labels[key]; len(v) > 63 || !labelText(v) {
			return invalid(field, "Label values must be at most 63 lowercase letters, digits, underscores and dashes.")
		}
	}
	for _, key := range sortedKeys(annotations) {
		if err := checkNamespace(fmt.Sprintf("%sannotations[%s]", path, key), "annotation", key); err != nil {
			return err
		}
	}
	return nil
}

func checkNamespace(field, kind, key string) error {
	namespace, _, found := strings.Cut(key, "/")
	if found && slices.ContainsFunc(systemNamespaces, func(n string) bool {
		return namespace == n || strings.HasSuffix(namespace, "."+n)
	}) {
		return invalid(field, "System %ss are not supported: the namespace '%s' is reserved.", kind, namespace)
	}
	return nil
}

// labelText reports whether the text has only what a label may hold: lower-case
// letters of any script count as letters.
func labelText(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool {
		return r < 0x80 && !strings.ContainsRune("abcdefghijklmnopqrstuvwxyz0123456789_-", r)
	})
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// checkAccount refuses a runtime account that does not exist. A caller's lack of
// the right to act as it has the same text, and is not modelled.
func (s *Service) checkAccount(project, email string) error {
	if email == defaultAccount(project) || s.o.Accounts == nil || s.o.Accounts.RunViewExists(email) {
		return nil
	}
	return failure(codes.PermissionDenied, "Permission 'iam.serviceaccounts.actAs' denied on service account %s (or it may not exist).", email)
}
