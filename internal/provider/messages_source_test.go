// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/resilience"
)

// summaryAt says which argument of a call is the summary of a message, by the
// name of what is called.
var summaryAt = map[string]int{
	"AddError": 0, "AddWarning": 0, "AddAttributeError": 1, "AddAttributeWarning": 1,
	"NewErrorDiagnostic": 0, "NewWarningDiagnostic": 0, "NewAttributeErrorDiagnostic": 1, "NewAttributeWarningDiagnostic": 1,
	"Parses": 1, "invalid": 2, // rooms value and their kin
	"Warning": 2, "Error": 2, "Explained": 2, // rooms diags and refusal
	"fail": 1, "report": 1, "explain": 2,
}

// passedOn are summaries that a function gets and hands over: they are found
// where it is called.
var passedOn = []string{
	"summary", "p.summary", "e.summary", "f.Rule.Summary", "EmulatorWarning", "summary + :  + x.Title", "summaries[name]", "summaries[attribute]", `summaries["credentials"]`,
	"resilience.ParallelismRange.Summary", "resilience.JobNameLong.Summary", "resilience.EnvService.Summary", "resilience.CheckpointPlace.Summary",
}

// elsewhere are the messages that need an answer of Google's, a state that is
// damaged or a resource of another provider: acceptance tests and
// refusal/testdata/messages.json hold them. What ends in "*" goes on.
var elsewhere = []string{
	// Answers, while something is read, made, changed or deleted.
	"Cannot *", "No such bucket", "No such secret", "Not allowed to grant a role on the *",
	"Bucket exists already", "Bucket is another one", "Executions save to the bucket", "Running executions not looked for", "Bucket name is taken", "Bucket is not empty", "Bucket not read back",
	"A job of the same name is left alone", "Another job has the name", "Cloud Run job is not ready", "Cloud Run did not take every value",
	"A cancelled execution has not ended yet", "Job exists already", "Job is already running", "Two resources for one run",
	"Execution goes on under its replacement", "Execution is forgotten", "Imported execution is recorded, not run",
	"Too many checkpoints to tell apart",
	// Results of a run.
	"Execution *", "Stopped *",
	// What only a moved block, or the import of something special, can meet.
	"Job cannot be imported", "deletion_policy does not move", "Settings that are not managed",
	// A provider whose configuration is not known before apply.
	"Resources not refreshed", "Provider configuration not known yet",
	// What should never be.
	"Bug in the provider", "Unreadable private state", "Invalid id in the state", "Invalid provider configuration",
	// No attribute has a range of durations, or a quantity of another thing.
	"Duration out of range", "Invalid quantity",
}

// Each message of the source has a case, or is one of those that have to be
// tried elsewhere.
func TestEveryMessageHasACase(t *testing.T) {
	t.Parallel()
	written := map[string]bool{}
	for _, g := range readMessages(t) {
		for _, c := range g.Cases {
			for _, m := range c.Messages {
				written[m.Summary] = true
			}
		}
	}
	wanted := map[string]string{}
	for _, r := range resilience.Rules() {
		wanted[r.Summary] = "rule " + r.ID
	}
	maps.Copy(wanted, summariesOf(t))
	if len(wanted) < 100 {
		t.Errorf("only %d messages were found in the source", len(wanted))
	}
	used := map[string]bool{}
	for _, summary := range slices.Sorted(maps.Keys(wanted)) {
		i := slices.IndexFunc(elsewhere, func(e string) bool {
			prefix, open := strings.CutSuffix(e, "*")
			return e == summary || open && strings.HasPrefix(summary, prefix)
		})
		prefix, open := strings.CutSuffix(summary, "*")
		switch {
		case written[summary]:
		case open && slices.ContainsFunc(slices.Collect(maps.Keys(written)), func(w string) bool { return strings.HasPrefix(w, prefix) }):
		case i >= 0:
			used[elsewhere[i]] = true
		default:
			t.Errorf("%q (%s) has no case in %s", summary, wanted[summary], messagesFolder)
		}
	}
	for _, e := range elsewhere {
		if !used[e] {
			t.Errorf("%q is tried elsewhere, and nobody says it", e)
		}
	}
}

// summariesOf finds the summaries in the source of the provider, each with the
// place where it stands.
func summariesOf(t testing.TB) map[string]string {
	t.Helper()
	found := map[string]string{}
	set := token.NewFileSet()
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(set, path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if lit, ok := n.(*ast.CompositeLit); ok {
				if name, _ := literal(lit.Type); name == "function.Definition" {
					return false // its summary is what a function does
				}
			}
			for _, e := range summariesIn(n) {
				summary, constant := literal(e)
				switch {
				case constant:
					found[summary] = set.Position(e.Pos()).String()
				case !slices.Contains(passedOn, summary):
					t.Errorf("%s: the summary is %s, and not constant", set.Position(e.Pos()), summary)
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// summariesIn returns the summaries that stand in a node itself.
func summariesIn(n ast.Node) []ast.Expr {
	switch n := n.(type) {
	case *ast.CallExpr:
		name := ""
		switch f := n.Fun.(type) {
		case *ast.SelectorExpr:
			name = f.Sel.Name
		case *ast.Ident:
			name = f.Name
		}
		if id, ok := n.Fun.(*ast.Ident); ok && id.Name == "report" {
			return nil // functions of that name take no summary, methods do
		}
		if at, ok := summaryAt[name]; ok && len(n.Args) > at+1 {
			return n.Args[at : at+1]
		}
	case *ast.FuncDecl:
		// Functions that return the summary and the detail.
		if r := n.Type.Results; r == nil || len(r.List) != 1 || len(r.List[0].Names) != 2 || r.List[0].Names[0].Name != "summary" {
			return nil
		}
		var all []ast.Expr
		ast.Inspect(n.Body, func(n ast.Node) bool {
			if r, ok := n.(*ast.ReturnStmt); ok && len(r.Results) == 2 {
				all = append(all, r.Results[0])
			}
			return true
		})
		return all
	case *ast.KeyValueExpr:
		if key, ok := n.Key.(*ast.Ident); ok && (key.Name == "summary" || key.Name == "Summary") {
			return []ast.Expr{n.Value}
		}
	case *ast.CompositeLit:
		// parses{...} and problem{...} without keys, and the table of summaries.
		id, ok := n.Type.(*ast.Ident)
		if ok && (id.Name == "parses" || id.Name == "problem") && len(n.Elts) == 3 {
			return n.Elts[1:2]
		}
	case *ast.ValueSpec:
		if len(n.Names) == 1 && n.Names[0].Name == "summaries" {
			var all []ast.Expr
			if table, ok := n.Values[0].(*ast.CompositeLit); ok {
				for _, e := range table.Elts {
					if pair, ok := e.(*ast.KeyValueExpr); ok {
						all = append(all, pair.Value)
					}
				}
			}
			return all
		}
	}
	return nil
}

// literal returns a constant text, the constant beginning of one with an "*",
// or, for anything else, how it is written.
func literal(e ast.Expr) (text string, constant bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		return text, err == nil
	case *ast.BinaryExpr:
		left, ok := literal(e.X)
		right, _ := literal(e.Y)
		if ok {
			return strings.TrimSuffix(left, "*") + "*", true
		}
		return left + " + " + right, false
	case *ast.SelectorExpr:
		of, _ := literal(e.X)
		return of + "." + e.Sel.Name, false
	case *ast.IndexExpr:
		of, _ := literal(e.X)
		if i, ok := e.Index.(*ast.BasicLit); ok {
			return of + "[" + i.Value + "]", false
		}
		i, _ := literal(e.Index)
		return of + "[" + i + "]", false
	case *ast.Ident:
		return e.Name, false
	}
	return "?", false
}
