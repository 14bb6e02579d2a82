// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package refusal

import (
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/path"
)

// IAM policies, and what Cloud Storage and Secret Manager say of their own.
var storageRules = []rule{
	on(`Role (\S+) is not supported for this resource`, func(_ *Subject, _ string, found []string) Explanation {
		return Explanation{
			Kind: Policies, Title: "the role cannot be granted here",
			What: fmt.Sprintf("%s is no role for this kind of resource. On a bucket Google takes roles/storage.… and custom roles only. The policy was not changed.", found[1]),
			Next: "Write a role that is for it, such as roles/storage.objectUser, which reads and writes objects.",
		}
	}),
	on(`The member (\S+) is of an unknown type`, func(_ *Subject, _ string, found []string) Explanation {
		return Explanation{
			Kind: Policies, Title: "a member has no valid type",
			What: fmt.Sprintf("%s does not say what kind of account it is.", found[1]),
			Next: fmt.Sprintf("Write the type before the address, such as serviceAccount:%s or user:%[1]s.", found[1]),
		}
	}),
	on(`Inconsistent representation of deleted member: '([^']+)'`, func(s *Subject, _ string, found []string) Explanation {
		return Explanation{
			Kind: Policies, Title: "the policy names a deleted account",
			What: fmt.Sprintf("The policy still has an entry of a deleted account of the same address (%s), and Google does not take both. The policy was not changed.", found[1]),
			Next: "Take the entry of the deleted account out of the policy, and apply again. For a bucket:" +
				command("gcloud storage buckets remove-iam-policy-binding gs://%s --member='%s' --role=ROLE", or(s.Bucket, "BUCKET"), found[1]),
		}
	}),
	on(`There were concurrent policy changes`, func(_ *Subject, _ string, _ []string) Explanation {
		return Explanation{
			Kind: Conflict, Title: "somebody else changed the policy",
			What: "Somebody else changed the IAM policy at the same time, again and again. The provider read it again and tried again; nothing of theirs was overwritten.",
			Next: "Apply again. When several configurations grant roles on the same resource, apply them one after the other.",
		}
	}),
	on(`Secret \[(?:projects/[^/\]]+/secrets/)?([^\]]+)\] not found`, func(s *Subject, _ string, found []string) Explanation {
		x := Explanation{
			Kind: Secret, Title: "the secret does not exist",
			What: fmt.Sprintf("There is no secret %s, so that no role can be granted on it.", found[1]),
			Next: "Correct the name, or make the secret first; a reference to its resource lets Terraform know the order. What there is:" +
				command("gcloud secrets list --project=%s", s.projectID()),
		}
		if uses := s.uses(secretLine{secret: found[1]}); len(uses) == 1 {
			x.At = uses[0].At
		}
		return x
	}),
	on(`(?i)public access prevention`, func(s *Subject, _ string, _ []string) Explanation {
		return Explanation{
			Kind: Policies, Title: "public access is prevented",
			What: fmt.Sprintf("Bucket %s does not let everybody in (public access prevention), and the policy would. The policy was not changed.", or(s.Bucket, "in question")),
			Next: "Grant the role to named accounts instead of allUsers or allAuthenticatedUsers.",
		}
	}),
	on(`(?i)Hierarchical namespace buckets must use uniform bucket-level access`, func(_ *Subject, _ string, _ []string) Explanation {
		return Explanation{
			Kind: Value, Title: "the bucket's settings exclude each other", At: path.Root("hierarchical_namespace"),
			What: "A bucket with a hierarchical namespace has uniform access only.", Next: "Set hierarchical_namespace = false, or take the other setting away.",
		}
	}),
	on(`(?i)(Versioning|Retention policy) is not supported for hierarchical namespace buckets`, func(_ *Subject, _ string, found []string) Explanation {
		return Explanation{
			Kind: Value, Title: "the bucket's settings exclude each other", At: path.Root("hierarchical_namespace"),
			What: found[1] + " and a hierarchical namespace exclude each other.", Next: "Choose one of the two. A hierarchical namespace cannot be changed later: it renames a folder of checkpoints in one step.",
		}
	}),
	on(`(?i)specified location constraint is not valid`, func(_ *Subject, _ string, _ []string) Explanation {
		return Explanation{
			Kind: Value, Title: "there is no such location", At: path.Root("location"),
			What: "Cloud Storage has no location of this name.", Next: "Write a region such as \"us-central1\", best that of the job. All: https://cloud.google.com/storage/docs/locations",
		}
	}),
	on(`(?i)Cloud KMS`, func(s *Subject, _ string, _ []string) Explanation {
		return Explanation{
			Kind: Key, Title: "the encryption key cannot be used", At: path.Root("kms_key_name"),
			What: "Cloud Storage encrypts with its own service agent in " + s.project() + ", service-PROJECT_NUMBER@gs-project-accounts.iam.gserviceaccount.com. It may not use the key, or the key does not exist, is disabled or is not in the bucket's location.",
			Next: "Give the agent the role roles/cloudkms.cryptoKeyEncrypterDecrypter on the key, which this does:" +
				command("gcloud storage service-agent --project=%s --authorize-cmek=KEY", s.projectID()),
		}
	}),
}
