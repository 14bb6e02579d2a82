// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package refusal

import (
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/lazyregexp"
)

// repository reads an image of Artifact Registry: location, project, repository
// and name.
var repository = lazyregexp.New(`^([a-z0-9-]+)-docker\.pkg\.dev/([^/]+)/([^/]+)/([^:@]+)`)

var agentAddress = lazyregexp.New(`service-\d+@serverless-robot-prod\.iam\.gserviceaccount\.com`)

func imageMissing(_ *Subject, _ string, found []string) Explanation {
	image := found[1]
	look := "Push " + image + ", or correct the image, and apply again."
	if m := repository.FindStringSubmatch(image); m != nil {
		look = join(look, "What is there:") + command("gcloud artifacts docker images list %s-docker.pkg.dev/%s/%s --include-tags", m[1], m[2], m[3])
	}
	return Explanation{
		Kind: Image, Title: "the image was not found", At: path.Root("image"),
		What: "There is no image " + image + ": its repository, its name or its tag does not exist.",
		Next: look,
	}
}

func imageUnreadable(s *Subject, text, image string) Explanation {
	agent := s.agent(text)
	x := Explanation{
		Kind: Image, Title: "the image cannot be read", At: path.Root("image"),
		What: fmt.Sprintf("%s could not be read. Cloud Run gets images with its service agent (%s), Google's own account in %s, and not with the account of the job. Either the agent has no right to the repository, or the image does not exist.", image, agent, s.project()),
	}
	grant := "Give the agent the role roles/artifactregistry.reader on the repository of the image."
	if m := repository.FindStringSubmatch(image); m != nil {
		grant = "Correct the image, or give the agent the role roles/artifactregistry.reader on its repository:" +
			command("gcloud artifacts repositories add-iam-policy-binding %s --location=%s --project=%s --member=serviceAccount:%s --role=roles/artifactregistry.reader", m[3], m[1], m[2], agent)
	}
	x.Next = paragraphs(grant, s.agentNumber(agent), "A new grant, and a Cloud Run API that was enabled a moment ago, take some minutes. Then apply again.")
	return x
}

func imageHost(_ *Subject, _ string, found []string) Explanation {
	return Explanation{
		Kind: Image, Title: "the image's registry is not supported", At: path.Root("image"),
		What: fmt.Sprintf("Cloud Run runs images of Artifact Registry (REGION-docker.pkg.dev), gcr.io and docker.io only. %s is elsewhere.", trimDot(found[1])),
		Next: "Push the image to Artifact Registry, or make a remote repository there that fetches it: https://cloud.google.com/artifact-registry/docs/repositories/remote-repo",
	}
}
