// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
)

// pages are the files below the templates' folder. Each is made of the tables of
// the code, or of files below the root of the project.
var pages = map[string]func(root string) (string, error){
	"guides/limits-and-gpu-types.md.tmpl":                  func(string) (string, error) { return limits(), nil },
	"guides/troubleshooting.md.tmpl":                       troubleshooting,
	"guides/choosing-timeout-retries-and-interval.md.tmpl": func(string) (string, error) { return choosing() },
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: pages FOLDER, the folder of the templates, in the root of the project; or pages -plot, for the curves of the plot")
		os.Exit(2)
	}
	act := func() error { return write(".", os.Args[1]) }
	if os.Args[1] == "-plot" {
		act = func() error { return writePlot(os.Stdout) }
	}
	if err := act(); err != nil {
		fmt.Fprintln(os.Stderr, "pages:", err)
		os.Exit(1)
	}
}

func write(root, folder string) error {
	for name, render := range pages {
		text, err := render(root)
		if err != nil {
			return err
		}
		file := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}
