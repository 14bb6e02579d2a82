// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package refusal

import (
	"fmt"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/lazyregexp"
)

// rule is one kind of text, and what it means.
type rule struct {
	text *lazyregexp.Regexp
	// explain gets the parts that text captures.
	explain func(s *Subject, text string, found []string) Explanation
}

func (r rule) done(s *Subject, text string, found []string) Explanation {
	x := r.explain(s, text, found)
	if len(x.At.Steps()) == 0 {
		x.At = path.Empty()
	}
	return x
}

// on makes a rule.
func on(text string, explain func(s *Subject, text string, found []string) Explanation) rule {
	return rule{lazyregexp.New(text), explain}
}

// rules are tried in this order; the first that fits counts, so that the
// narrower text stands before the wider.
var rules = slices.Concat(quotaRules, jobRules, accessRules, storageRules)

var rateLimit = rule{explain: tooManyCalls}

var quotaRules = []rule{
	on(`[A-Z][A-Za-z0-9]*\s+requested:\s*\d+\s+allowed:\s*\d+`, violated),
	// The first sentence alone looks like a wrong value.
	on(`(?i)Invalid value specified for (cpu|memory)\.\s+For the specified value, maxScale may not exceed (\d+)`, cpuCap),
	on(`(?i)Max instances must be set to (\d+) or fewer (?:in order )?to set the requested (total [\w/ ]+)`, instanceCap),
	on(`(?i)do not have quota for using GPUs(?: (with|without) zonal redundancy)?`, func(s *Subject, _ string, found []string) Explanation {
		return s.noGPUs(found[1] == "with", "has no quota, or too little, for")
	}),
	on(`(?i)Quota exceeded for total allowable count of GPUs`, func(s *Subject, _ string, _ []string) Explanation {
		return s.noGPUs(s.redundant(), "has too little quota, or other jobs and services use it up, for")
	}),
	on(`(?i)Quota exceeded for quota (?:metric|group) '([^']+)' and limit '([^']+)' of service '([^']+)'`, metric),
	on(`(?i)Maximum number of service accounts on project reached`, func(s *Subject, _ string, _ []string) Explanation {
		return Explanation{
			Kind: Quota, Title: "too many service accounts",
			What: "A job without service_account gets an account of its own, and " + s.project() + " has as many accounts as it may. " + whatQuota,
			Next: "Delete accounts that nobody uses, let jobs share one (service_account = EMAIL), or ask for more: https://console.cloud.google.com/iam-admin/quotas?project=" + s.projectID() + "&service=iam.googleapis.com" +
				command("gcloud iam service-accounts list --project=%s", s.projectID()),
		}
	}),
}

// The sizes, stages and states of a job.
var jobRules = []rule{
	on(`Image '([^']+)' not found`, imageMissing),
	on(`must have permission to read the image, (\S+)`, func(s *Subject, text string, found []string) Explanation {
		return imageUnreadable(s, text, trimDot(found[1]))
	}),
	on(`Expected an image path like .* but obtained (\S+)`, imageHost),
	on(`(?i)Invalid value specified for (cpu|memory)\b[^.]*\.\s*(.*)`, wrongSize),
	on(`(?i)In order to set GPU, (cpu|memory) must be at least (\S+)`, func(_ *Subject, _ string, found []string) Explanation {
		return Explanation{
			Kind: Size, Title: "not enough " + found[1] + " for the GPU", At: path.Root(found[1]),
			What: fmt.Sprintf("Cloud Run gives a GPU only to a task that has at least %s of %s.", trimDot(found[2]), found[1]),
			Next: fmt.Sprintf("Set %s = %q or more, or leave cpu and memory out to get the defaults of the GPU type.", found[1], trimDot(found[2])),
		}
	}),
	on(`(?i)feature '?([^'\n]+?)'? is not supported in the declared launch stage(?:.*at least as (\w+))?`, func(_ *Subject, _ string, found []string) Explanation {
		stage, other := or(found[2], "BETA"), ""
		if found[2] == "" {
			other = " (or \"ALPHA\")"
		}
		return Explanation{
			Kind: Stage, Title: "the launch stage does not permit a feature", At: path.Root("launch_stage"),
			What: fmt.Sprintf("The job uses the feature %q, which is not finished yet, and declares a launch stage in which Google does not offer it.", found[1]),
			Next: fmt.Sprintf("Set launch_stage = %q%s to accept a feature that Google may still change, or do without the feature.", stage, other),
		}
	}),
	on(`(?i)Annotation '?run\.googleapis\.com/execution-environment'? with value '?gen1'? is not supported`, func(_ *Subject, _ string, _ []string) Explanation {
		return Explanation{
			Kind: Value, Title: "jobs have the second generation only", At: path.Root("annotations"),
			What: "The first generation of Cloud Run's execution environment was asked for, and jobs always run in the second.",
			Next: "Take the annotation run.googleapis.com/execution-environment away.",
		}
	}),
	on(`(?i)(?:unknown|unrecognized|no such) (?:field|name)\S*\s+\S*gpu_?ZonalRedundancy_?Disabled|gpu_?ZonalRedundancy_?Disabled\S*:? (?:unknown field|no such field|is not supported)`, func(s *Subject, _ string, _ []string) Explanation {
		return Explanation{
			Kind: Value, Title: "no switch for zonal redundancy", At: path.Root("gpu_zonal_redundancy"),
			What: fmt.Sprintf("A GPU job without zonal redundancy is asked for with the field gpuZonalRedundancyDisabled, and Cloud Run does not know it for jobs in %s, or at the endpoint that is used.", s.region()),
			Next: "Set gpu_zonal_redundancy = true: then the field is left out, and the job gets what Cloud Run gives to GPUs there, for which the project needs the quota. Or use a region, or an endpoint, that knows the field.",
		}
	}),
	on(`(?i)reserved env names were provided: ([^.\n]+)`, func(_ *Subject, _ string, found []string) Explanation {
		return Explanation{
			Kind: Value, Title: "reserved name of a variable", At: path.Root("env"),
			What: "Cloud Run itself sets these environment variables, so that a job cannot: " + found[1] + ".",
			Next: "Take them out of the configuration; the program finds them set.",
		}
	}),
	on(`Conflict for resource '([^']*)'`, func(_ *Subject, _ string, found []string) Explanation {
		return Explanation{
			Kind: Conflict, Title: "somebody else changed it",
			What: fmt.Sprintf("Somebody else, or another tool, changed %q between reading and writing it. The provider read it again and tried again, and it happened each time. Their change was kept, and nothing was overwritten.", found[1]),
			Next: "Find out who else writes it (its page in the console says who did last), and apply again.",
		}
	}),
	on(`Resource '([^']+)' of kind '(\w+)' (?:in region '([^']+)' )?(?:in project '([^']+)' )?does not exist`, func(s *Subject, _ string, found []string) Explanation {
		return Explanation{
			Kind: Missing, Title: "it is gone",
			What: fmt.Sprintf("There is no %s %s in %s any more: somebody deleted it a moment ago.", kindInWords(found[2]), found[1], s.place()),
			Next: "Apply again, to have it made.",
		}
	}),
	on(`Execution '([^']+)' cannot be cancelled because it is not running`, func(_ *Subject, _ string, found []string) Explanation {
		return Explanation{
			Kind: Conflict, Title: "the execution has ended",
			What: "The execution " + found[1] + " ended before it could be cancelled.", Next: "Apply again.",
		}
	}),
	on(`^Precondition check failed\.?$`, func(s *Subject, _ string, _ []string) Explanation {
		return Explanation{
			Kind: Conflict, Title: "a condition is not met",
			What: "Google does not say which condition it means. This text was seen for quite different causes.",
			Next: "Apply again. If the text comes back, look into the audit log, which may say more:" +
				command("gcloud logging read 'protoPayload.serviceName=\"run.googleapis.com\" severity>=ERROR' --limit=5 --project=%s", s.projectID()),
		}
	}),
}

// redundant is what the configuration says; the text does not.
func (s *Subject) redundant() bool { return s.ZonalRedundancy }

func kindInWords(kind string) string {
	switch kind {
	case "JOB":
		return "job"
	case "EXECUTION":
		return "execution"
	}
	return kind
}

var between = lazyregexp.New(`(?i)For ([\d.]+) CPU, memory must be between (\S+) and (\S+) inclusive`)

// wrongSize explains CPU and memory that Cloud Run does not have.
func wrongSize(s *Subject, text string, found []string) Explanation {
	attribute := found[1]
	if attribute == "CPU" || attribute == "Cpu" {
		attribute = "cpu"
	}
	x := Explanation{
		Kind: Size, Title: attribute + " has a value that is not offered", At: path.Root(attribute),
		What: fmt.Sprintf("Cloud Run has no tasks with this %s.", attribute),
		Next: fmt.Sprintf("Correct %s by what Google says below, or leave cpu and memory out to get the defaults of the GPU type.", attribute),
	}
	if m := between.FindStringSubmatch(text); m != nil {
		now := ""
		if s.Memory > 0 {
			now = " The job asks for " + gibi(s.Memory) + "."
		}
		x.Title = "cpu and memory do not fit together"
		x.What = fmt.Sprintf("A task with %s vCPU has %s to %s of memory.%s", decimalText(m[1]), m[2], m[3], now)
		x.Next = fmt.Sprintf("Set memory to %s to %s, or choose another cpu; without both, the job gets the defaults of its GPU type.", m[2], m[3])
	}
	return x
}

var reasons = map[string]rule{
	"CONTAINER_MISSING": {explain: func(s *Subject, text string, _ []string) Explanation {
		return imageMissing(s, text, []string{"", or(s.Image, "the image")})
	}},
	"CONTAINER_PERMISSION_DENIED": {explain: func(s *Subject, text string, _ []string) Explanation {
		return imageUnreadable(s, text, or(s.Image, "the image"))
	}},
	"CONTAINER_IMAGE_UNAUTHORIZED":               {explain: binaryAuthorization},
	"CONTAINER_IMAGE_AUTHORIZATION_CHECK_FAILED": {explain: binaryAuthorization},
	"ENCRYPTION_KEY_PERMISSION_DENIED":           {explain: encryptionKey},
	"ENCRYPTION_KEY_CHECK_FAILED":                {explain: encryptionKey},
	"SECRETS_ACCESS_CHECK_FAILED": {explain: func(s *Subject, _ string, _ []string) Explanation {
		return Explanation{
			Kind: Secret, Title: "a secret cannot be used",
			What: "Cloud Run could not check that the account " + or(s.Account, "of the job") + " may read the secrets of the job.",
			Next: "Look whether each secret and version exists, and whether the account has the role roles/secretmanager.secretAccessor on it (grant = true gives it), and apply again.",
		}
	}},
	"VPC_NETWORK_NOT_FOUND": {explain: func(s *Subject, _ string, _ []string) Explanation {
		return Explanation{
			Kind: Network, Title: "the network was not found", At: path.Root("network"),
			What: "The VPC network, the subnetwork or the connector of the job was not found in " + s.region() + ", or Cloud Run may not use it.",
			Next: "Compare the names with what there is. A subnetwork and a connector must be in the job's region:" +
				command("gcloud compute networks subnets list --regions=%s --project=%s", s.locationID(), s.projectID()),
		}
	}},
	"PROGRESS_DEADLINE_EXCEEDED": {explain: platformFailed},
	"INTERNAL":                   {explain: platformFailed},
}

func platformFailed(_ *Subject, _ string, _ []string) Explanation {
	return Explanation{
		Kind: Platform, Title: "Cloud Run failed",
		What: "Cloud Run did not get the job ready, and does not blame the configuration.",
		Next: "Apply again; if it goes on, see https://status.cloud.google.com.",
	}
}

func binaryAuthorization(s *Subject, _ string, _ []string) Explanation {
	return Explanation{
		Kind: Image, Title: "the image is not authorized", At: path.Root("image"),
		What: fmt.Sprintf("Binary Authorization, the policy that says which images may run in %s, does not let %s run, or could not check it.", s.project(), or(s.Image, "this image")),
		Next: "Use an image that the policy permits (it may have to be named by its digest, and attested), or ask whoever keeps the policy:" +
			command("gcloud container binauthz policy export --project=%s", s.projectID()),
	}
}

func encryptionKey(s *Subject, text string, _ []string) Explanation {
	agent := s.agent(text)
	return Explanation{
		Kind: Key, Title: "the encryption key cannot be used", At: path.Root("encryption_key"),
		What: fmt.Sprintf("Cloud Run's service agent (%s), Google's own account in %s, may not use the key of the job, or the key is disabled or in another region.", agent, s.project()),
		Next: paragraphs("Give the agent the role roles/cloudkms.cryptoKeyEncrypterDecrypter on the key:"+
			command("gcloud kms keys add-iam-policy-binding KEY --keyring=KEYRING --location=%s --member=serviceAccount:%s --role=roles/cloudkms.cryptoKeyEncrypterDecrypter", s.locationID(), agent), s.agentNumber(agent)),
	}
}
