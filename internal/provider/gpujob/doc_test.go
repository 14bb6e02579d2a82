// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package gpujob

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// Every row of the life-cycle table has an acceptance test that names it, and no
// test names a row that is not there.
func TestEveryRowHasATest(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^//\t +?(\d+)  \|`).FindAllStringSubmatch(string(doc), -1) {
		rows[m[1]] = false
	}
	for _, m := range regexp.MustCompile(`(?m)^//\t(\d+)  \|`).FindAllStringSubmatch(string(doc), -1) {
		rows[m[1]] = false
	}
	if len(rows) != 29 {
		t.Errorf("%d rows", len(rows))
	}
	files, err := filepath.Glob("*_acc_test.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, comment := range regexp.MustCompile(`(?m)^func TestAcc.*// rows? ([\d, ]+)$`).FindAllStringSubmatch(string(text), -1) {
			for _, row := range regexp.MustCompile(`\d+`).FindAllString(comment[1], -1) {
				if _, ok := rows[row]; !ok {
					t.Errorf("%s names row %s, which the table does not have", name, row)
				}
				rows[row] = true
			}
		}
	}
	for row, tested := range rows {
		if !tested {
			t.Errorf("row %s has no test", row)
		}
	}
}
