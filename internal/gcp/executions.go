// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package gcp

import (
	"context"
	"iter"

	"cloud.google.com/go/run/apiv2/runpb"
	"github.com/googleapis/gax-go/v2"
	"google.golang.org/api/iterator"
)

const (
	// Executions are large, because each holds a copy of its task template, and the newest are the ones that callers look for.
	pageSize = 100
	// An execution has up to 10,000 tasks, which callers read to the end. The API documents no maximum and may send fewer.
	taskPage = 1000
)

// GetExecution reads an execution by its full name.
func (c *Client) GetExecution(ctx context.Context, name string, opts ...Option) (*runpb.Execution, error) {
	var e *runpb.Execution
	err := c.runDo(ctx, c.runCall("read execution", name, read, opts...), func(ctx context.Context, api *runClients, o gax.CallOption) (err error) {
		e, err = api.executions.GetExecution(ctx, &runpb.GetExecutionRequest{Name: name}, o)
		return err
	})
	return e, err
}

// Executions lists the executions of a job (the job's full name), newest first. Pages are fetched when they are reached. An error is the
// last element.
func (c *Client) Executions(ctx context.Context, parent string) iter.Seq2[*runpb.Execution, error] {
	return c.executions(ctx, parent, pageSize)
}

// NewestExecution returns the newest execution of a job (the job's full name), nil when there is none. Nothing else is fetched.
func (c *Client) NewestExecution(ctx context.Context, parent string) (*runpb.Execution, error) {
	for e, err := range c.executions(ctx, parent, 1) {
		return e, err
	}
	return nil, nil //nolint:nilnil // a job that was not run yet is no error
}

func (c *Client) executions(ctx context.Context, parent string, size int) iter.Seq2[*runpb.Execution, error] {
	return pages(func(token string) (items []*runpb.Execution, next string, err error) {
		k := c.runCall("list the executions of", parent, read)
		err = c.runDo(ctx, k, func(ctx context.Context, api *runClients, o gax.CallOption) (err error) {
			items = nil
			it := api.executions.ListExecutions(ctx, &runpb.ListExecutionsRequest{Parent: parent}, o)
			next, err = iterator.NewPager(it, size, token).NextPage(&items)
			return err
		})
		return items, next, err
	})
}

// Tasks lists the tasks of an execution (the execution's full name). An error is the last element.
func (c *Client) Tasks(ctx context.Context, parent string) iter.Seq2[*runpb.Task, error] {
	return pages(func(token string) (items []*runpb.Task, next string, err error) {
		k := c.runCall("list the tasks of", parent, read)
		err = c.runDo(ctx, k, func(ctx context.Context, api *runClients, o gax.CallOption) (err error) {
			items = nil
			it := api.tasks.ListTasks(ctx, &runpb.ListTasksRequest{Parent: parent}, o)
			next, err = iterator.NewPager(it, taskPage, token).NextPage(&items)
			return err
		})
		return items, next, err
	})
}

// GetTask reads a task by its full name.
func (c *Client) GetTask(ctx context.Context, name string) (*runpb.Task, error) {
	var t *runpb.Task
	err := c.runDo(ctx, c.runCall("read task", name, read), func(ctx context.Context, api *runClients, o gax.CallOption) (err error) {
		t, err = api.tasks.GetTask(ctx, &runpb.GetTaskRequest{Name: name}, o)
		return err
	})
	return t, err
}

// CancelExecution asks for the end of a running execution and returns the execution as it is then: the end itself comes later, after the
// tasks had their time to stop. An execution that has ended already is an error with the code FAILED_PRECONDITION.
func (c *Client) CancelExecution(ctx context.Context, name string) (*runpb.Execution, error) {
	k := c.runCall("cancel execution", name, repeatable)
	var e *runpb.Execution
	err := c.runDo(ctx, k, func(ctx context.Context, api *runClients, o gax.CallOption) error {
		op, err := api.executions.CancelExecution(ctx, &runpb.CancelExecutionRequest{Name: name}, o)
		if err != nil {
			return err
		}
		e, err = op.Metadata()
		if err != nil {
			e = nil // the cancel was accepted all the same
		}
		return nil
	})
	if err != nil || e.GetName() != "" {
		return e, err
	}
	return c.GetExecution(ctx, name)
}

// pages makes one sequence of a paged list.
func pages[T any](fetch func(token string) ([]T, string, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		token := ""
		for {
			items, next, err := fetch(token)
			if err != nil {
				var none T
				yield(none, err)
				return
			}
			for _, item := range items {
				if !yield(item, nil) {
					return
				}
			}
			if next == "" {
				return
			}
			token = next
		}
	}
}
