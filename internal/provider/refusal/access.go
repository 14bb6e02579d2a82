// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package refusal

import (
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/lazyregexp"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/diags"
)

// Who may do what: rights of the caller and of Google's own accounts, APIs,
// billing, and the rules of the organization.
var accessRules = []rule{
	on(`(?i)'iam\.serviceaccounts\.actAs' denied on service account (\S+)`, actAs),
	on(`(?i)Service Agent does not have permission to get access tokens for the service account (\S+)`, agentTokens),
	on(`API has not been used in project (\S+) before or it is disabled`, func(_ *Subject, text string, found []string) Explanation {
		api, project := serviceName.FindStringSubmatch(text), found[1]
		enable := command("gcloud services enable run.googleapis.com iam.googleapis.com storage.googleapis.com --project=%s", project)
		name := "An API that the provider needs"
		if api != nil {
			name, enable = "The API "+api[1], command("gcloud services enable %s --project=%s", api[1], project)
		}
		return Explanation{
			Kind: API, Title: "an API is off",
			What: name + " is not enabled in project " + project + ".", Next: "Enable it, wait a minute, and apply again:" + enable,
		}
	}),
	on(`(?i)absent billing account|billing account .*(?:is disabled|is not active|is not found|not open)|billing (?:is )?disabled|requires billing to be enabled|billing must be enabled`, func(s *Subject, _ string, _ []string) Explanation {
		return Explanation{
			Kind: Billing, Title: "the project has no billing",
			What: "Google does this only for a project that has an active billing account, and " + s.project() + " has none.",
			Next: "Link a billing account to the project: https://console.cloud.google.com/billing/linkedaccount?project=" + s.projectID(),
		}
	}),
	on(`(?i)Request is prohibited by organization's policy\.?(?: vpcServiceControlsUniqueIdentifier: (\S+))?`, func(_ *Subject, _ string, found []string) Explanation {
		id := "."
		if found[1] != "" {
			id = "; Google's id of this refusal is " + trimDot(found[1]) + "."
		}
		return Explanation{
			Kind: Policy, Title: "VPC Service Controls forbid it",
			What: "The organization has drawn a perimeter around this project, which lets a request through only from permitted networks and accounts. This one is not permitted.",
			Next: "Apply from inside the perimeter, or ask whoever keeps it to let the account that Terraform runs as through" + id,
		}
	}),
	on(`(?i)do not belong to a permitted customer`, func(s *Subject, _ string, _ []string) Explanation {
		return Explanation{
			Kind: Policy, Title: "the organization does not permit the member",
			What: "The organization permits grants only to its own accounts (constraint iam.allowedPolicyMemberDomains), and a member of the policy belongs to none of the permitted ones. The policy was not changed.",
			Next: "Use an account of the organization, or ask whoever keeps the constraint:" + command("gcloud org-policies describe iam.allowedPolicyMemberDomains --effective --project=%s", s.projectID()),
		}
	}),
	on(`(?i)Service account creation is not allowed on this project`, func(s *Subject, _ string, _ []string) Explanation {
		return Explanation{
			Kind: Policy, Title: "the organization permits no new service accounts",
			What: "A job without service_account gets an account of its own, and the organization permits none to be made in " + s.project() + " (constraint iam.disableServiceAccountCreation).",
			Next: "Name an existing account in service_account, or ask whoever keeps the constraint.",
		}
	}),
	on(`(?i)'?([\w-]+)'? violates constraint '?constraints/gcp\.resourceLocations`, func(s *Subject, _ string, found []string) Explanation {
		return Explanation{
			Kind: Policy, Title: "the organization does not permit the location", At: path.Root("location"),
			What: fmt.Sprintf("The organization permits only some locations in %s (constraint gcp.resourceLocations), and %s is none of them.", s.project(), found[1]),
			Next: "Choose a permitted location. Which ones are:" + command("gcloud org-policies describe gcp.resourceLocations --effective --project=%s", s.projectID()),
		}
	}),
	on(`(?i)(?:violates? constraint|constraint)\W+constraints/([\w.]+)`, func(s *Subject, _ string, found []string) Explanation {
		name := trimDot(found[1])
		return Explanation{
			Kind: Policy, Title: "the organization does not permit it",
			What: fmt.Sprintf("The organization has a rule for %s, the constraint %s, which this configuration breaks.", s.project(), name),
			Next: "Read what the constraint permits, and change the configuration, or ask whoever keeps it:" + command("gcloud org-policies describe %s --effective --project=%s", name, s.projectID()),
		}
	}),
	on(`(?i)Service account (\S+@\S+) does not exist`, noAccount),
	on(`(?i)Permission '?([a-zA-Z]+\.[\w.]+)'? (?:is )?denied`, noRight),
	on(`(?i)does not have ([a-z]+\.[\w.]+) access`, noRight),
}

var (
	serviceName = lazyregexp.New(`([a-z][a-z0-9-]*\.googleapis\.com)`)
	caller      = lazyregexp.New(`^(\S+@\S+) does not have `)
)

// actAs: whoever lets a job run as an account must be allowed to act as it.
func actAs(s *Subject, _ string, found []string) Explanation {
	account := trimDot(found[1])
	x := Explanation{
		Kind: Permission, Title: "not allowed to act as the service account", At: path.Root("service_account"),
		What: fmt.Sprintf("The job is to run as %s. The account that Terraform runs as must be allowed to act as that account, and is not, or there is no such account.", account),
	}
	if s.Owned {
		// A role on the account itself would go with the account, which a failed create deletes.
		x.At = path.Empty()
		x.Next = fmt.Sprintf("Give the account that Terraform runs as the role roles/iam.serviceAccountUser in %s, which covers the accounts that the provider makes:", s.project()) +
			command("gcloud projects add-iam-policy-binding %s --member=MEMBER --role=roles/iam.serviceAccountUser", s.projectID()) + "\n\n" + who
		return x
	}
	x.Next = fmt.Sprintf("Give the account that Terraform runs as the role roles/iam.serviceAccountUser on %s, or correct service_account:", account) +
		command("gcloud iam service-accounts add-iam-policy-binding %s --member=MEMBER --role=roles/iam.serviceAccountUser --project=%s", account, projectOf(account, s)) + "\n\n" + who
	return x
}

// projectOf is the project that an account's address names.
func projectOf(account string, s *Subject) string {
	_, domain, _ := strings.Cut(account, "@")
	if project, ok := strings.CutSuffix(domain, ".iam.gserviceaccount.com"); ok {
		return project
	}
	return s.projectID()
}

// agentTokens: Cloud Run starts a task as the account of the job, and needs a
// token of it.
func agentTokens(s *Subject, text string, found []string) Explanation {
	account, agent := trimDot(found[1]), s.agent(text)
	x := Explanation{
		Kind: Permission, Title: "Cloud Run may not use the service account", At: path.Root("service_account"),
		What: fmt.Sprintf("To start a task as %s, Cloud Run's service agent (%s), Google's own account in %s, needs access tokens of that account, and may not have them.", account, agent, s.project()),
	}
	if s.Owned {
		x.At = path.Empty()
	}
	if projectOf(account, s) == s.projectID() {
		x.Next = paragraphs("The account is in the job's own project: give the agent the role roles/run.serviceAgent, which it has unless somebody took it away:"+
			command("gcloud projects add-iam-policy-binding %s --member=serviceAccount:%s --role=roles/run.serviceAgent", s.projectID(), agent), s.agentNumber(agent))
		return x
	}
	x.What = join(x.What, "An account of another project gives them only when that is granted.")
	x.Next = paragraphs(fmt.Sprintf("Give the agent the role roles/iam.serviceAccountTokenCreator on %s:", account)+
		command("gcloud iam service-accounts add-iam-policy-binding %s --member=serviceAccount:%s --role=roles/iam.serviceAccountTokenCreator --project=%s", account, agent, projectOf(account, s)), s.agentNumber(agent))
	return x
}

func noAccount(s *Subject, _ string, found []string) Explanation {
	account := found[1]
	x := Explanation{
		Kind: Account, Title: "the service account does not exist",
		What: fmt.Sprintf("There is no service account %s, or Google's services do not see it yet: a new one takes up to some minutes.", account),
	}
	switch {
	case s.Owned && strings.EqualFold(account, s.Account):
		x.Next = "The provider made this account and waited for it. Apply again: it goes on from where it is."
	default:
		x.Next = "Correct the address, or make the account. What there is:" + command("gcloud iam service-accounts list --project=%s", projectOf(account, s))
	}
	if !s.Owned && strings.EqualFold(account, s.Account) {
		x.At = path.Root("service_account")
	}
	return x
}

func noRight(s *Subject, text string, found []string) Explanation {
	right := trimDot(found[1])
	member := "MEMBER"
	subject, who := "The account that Terraform runs as", who
	if m := caller.FindStringSubmatch(text); m != nil {
		subject, who = m[1]+", the account that Terraform runs as,", ""
		member = "user:" + m[1]
		if strings.HasSuffix(m[1], ".gserviceaccount.com") {
			member = "serviceAccount:" + m[1]
		}
	}
	x := Explanation{
		Kind: Permission, Title: "not allowed",
		What: fmt.Sprintf("%s lacks the right %s, or what the text names does not exist.", subject, right),
		Next: "Ask whoever administers " + s.project() + " for a role that has this right.",
	}
	if role := diags.RoleWith(right); role != "" {
		x.Next = paragraphs(fmt.Sprintf("The role %s has this right. Whoever administers %s can give it:", role, s.project())+
			command("gcloud projects add-iam-policy-binding %s --member=%s --role=%s", s.projectID(), member, role), who)
	}
	return x
}
