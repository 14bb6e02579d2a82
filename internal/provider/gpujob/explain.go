// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package gpujob

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/gcp"
)

// refusal is a text of Cloud Run's, and what it means to the user.
type refusal struct {
	text *regexp.Regexp
	// at is the attribute to blame, "" for none.
	at string
	// hint is the next step; found holds the parts that text captures.
	hint func(m *Model, found []string) string
}

var refusals = []refusal{
	{
		regexp.MustCompile(`(?i)'iam\.serviceaccounts\.actAs' denied on service account (\S+)`), "service_account",
		func(_ *Model, found []string) string {
			return fmt.Sprintf("The account that Terraform runs as needs the role roles/iam.serviceAccountUser on %s (or the account does not exist). Give it that role, and apply again.", found[1])
		},
	},
	{
		regexp.MustCompile(`(?i)Service Agent does not have permission to get access tokens for the service account (\S+?)[;.,]?(\s|$)`), "service_account",
		func(_ *Model, found []string) string {
			return fmt.Sprintf("Cloud Run's service agent, service-PROJECT_NUMBER@serverless-robot-prod.iam.gserviceaccount.com, needs the role roles/iam.serviceAccountTokenCreator on %s.", found[1])
		},
	},
	{
		regexp.MustCompile(`(?i)must have permission to read the image, (\S+?)[.,]?(\s|$)`), "image",
		func(m *Model, found []string) string {
			return fmt.Sprintf("%s could not be read: give Cloud Run's service agent%s the role roles/artifactregistry.reader on its repository, or correct the image. A new grant takes some minutes.", found[1], agentIn(m))
		},
	},
	{
		regexp.MustCompile(`Image '([^']+)' not found`), "image",
		func(_ *Model, found []string) string {
			return fmt.Sprintf("Push %s, or correct the image, and apply again. The job exists already; Terraform makes it again with the next apply if this was its first.", found[1])
		},
	},
	{
		regexp.MustCompile(`Permission denied on secret: (\S+) for Revision service account (\S+?)\.?(\s|$)`), "",
		func(_ *Model, found []string) string {
			return fmt.Sprintf("Give %s the role roles/secretmanager.secretAccessor on the secret %s.", found[2], found[1])
		},
	},
	{
		regexp.MustCompile(`(?i)feature '?([^']+?)'? is not supported in the declared launch stage`), "launch_stage",
		func(_ *Model, found []string) string {
			return fmt.Sprintf("%s needs a more permissive launch stage: write launch_stage = \"BETA\".", found[1])
		},
	},
	{
		regexp.MustCompile(`(?i)do not have quota for using GPUs|total allowable count of GPUs`), "gpu_type",
		func(m *Model, _ []string) string {
			kind := "without zonal redundancy"
			if m.GPUZonalRedundancy.ValueBool() {
				kind = "with zonal redundancy"
			}
			return fmt.Sprintf("Ask for a quota of %s GPUs %s in %s for project %s (https://g.co/cloudrun/gpu-quota), lower parallelism, or use a region where you have quota.",
				m.GPUType.ValueString(), kind, m.Location.Canonical(), m.Project.ValueString())
		},
	},
}

// explain returns the attribute to blame for a refused job and the next step;
// both are empty where the text is not known.
func explain(m *Model, err error) (at, hint string) {
	text := said(err)
	for _, r := range refusals {
		if found := r.text.FindStringSubmatch(text); found != nil {
			return r.at, strings.TrimSpace(r.hint(m, found))
		}
	}
	if gcp.IsAmbiguous(err) {
		return "", "Apply again: Terraform looks at what is there and goes on from it."
	}
	return "", ""
}

// said returns Google's text of an error.
func said(err error) string {
	var failed *notReadyError
	if errors.As(err, &failed) {
		return failed.message
	}
	if e, ok := gcp.AsError(err); ok {
		return e.Message
	}
	return ""
}

// imageUnreadable recognises that the service agent may not read the image yet.
func imageUnreadable(err error) bool {
	return strings.Contains(said(err), "must have permission to read the image")
}

// agentIn says where the service agent belongs.
func agentIn(m *Model) string { return " of project " + m.Project.ValueString() }
