// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/gcp"
)

// prefix begins the names that internal/acctest gives; a test holds them together.
const prefix = "tfacc-"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Getenv, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, getenv func(string) string, out io.Writer) error {
	project, region := getenv("GOOGLE_PROJECT"), getenv("GOOGLE_REGION")
	if project == "" || region == "" {
		return errors.New("set GOOGLE_PROJECT and GOOGLE_REGION: in which project, and in which region the jobs are")
	}
	client, err := gcp.New(ctx, gcp.Options{Project: project, UserAgent: "resilientjob-leftovers", EmulatorHost: getenv("RESILIENTJOB_EMULATOR_HOST")})
	if err != nil {
		return err
	}
	s := &sweep{client: client, project: project, out: out}
	return errors.Join(s.jobs(ctx, "projects/"+project+"/locations/"+region), s.buckets(ctx), s.accounts(ctx), client.Close())
}

// sweep deletes; what cannot be deleted does not keep the rest.
type sweep struct {
	client  *gcp.Client
	project string
	out     io.Writer
}

func (s *sweep) jobs(ctx context.Context, parent string) error {
	var names []string
	for job, err := range s.client.Jobs(ctx, parent) {
		if err != nil {
			return err
		}
		if strings.HasPrefix(job.GetName(), parent+"/jobs/"+prefix) {
			names = append(names, job.GetName())
		}
	}
	return s.each(names, func(name string) error {
		deleting, err := s.client.DeleteJob(ctx, name, "")
		if err == nil {
			_, err = deleting.Wait(ctx)
		}
		return err
	})
}

func (s *sweep) buckets(ctx context.Context) error {
	var names []string
	for bucket, err := range s.client.Buckets(ctx, s.project, prefix) {
		if err != nil {
			return err
		}
		names = append(names, bucket.Name)
	}
	return s.each(names, func(name string) error {
		_, emptying := s.client.EmptyBucket(ctx, name)
		if err := s.client.DeleteBucket(ctx, name); err != nil {
			return errors.Join(emptying, err)
		}
		return nil
	})
}

func (s *sweep) accounts(ctx context.Context) error {
	var emails []string
	for account, err := range s.client.ServiceAccounts(ctx, s.project) {
		if err != nil {
			return err
		}
		if strings.HasPrefix(account.GetEmail(), prefix) {
			emails = append(emails, account.GetEmail())
		}
	}
	return s.each(emails, func(email string) error { return s.client.DeleteServiceAccount(ctx, s.project, email) })
}

func (s *sweep) each(names []string, remove func(string) error) error {
	var failed []error
	for _, name := range names {
		if err := remove(name); err != nil && !gcp.IsNotFound(err) {
			failed = append(failed, err)
			continue
		}
		fmt.Fprintln(s.out, "deleted", name)
	}
	return errors.Join(failed...)
}
