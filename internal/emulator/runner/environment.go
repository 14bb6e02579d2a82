// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package runner

import (
	"fmt"
	"runtime"
	"strings"
)

// basics are the only variables that a task gets from the host: what a program needs to find other programs, its user's
// home, a place for temporary files, and its language. Credentials and settings of the emulator's shell stay out.
var basics = []string{"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "TMPDIR", "TZ"}

// windowsBasics are what Windows programs cannot start without.
var windowsBasics = []string{"SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "TEMP", "TMP", "USERPROFILE", "USERNAME", "APPDATA", "LOCALAPPDATA", "PROGRAMDATA", "PROGRAMFILES"}

// defaultPath is used when the emulator itself has no PATH.
const defaultPath = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

func hostBasics(environ []string) []string {
	wanted := map[string]bool{}
	for _, name := range basics {
		wanted[name] = true
	}
	if runtime.GOOS == "windows" {
		for _, name := range windowsBasics {
			wanted[name] = true
		}
	}
	kept := []string{defaultPath}
	for _, v := range environ {
		if name, _, ok := strings.Cut(v, "="); ok && wanted[envKey(name)] {
			kept = append(kept, v)
		}
	}
	return kept
}

// envKey is a variable's name as the system compares names.
func envKey(name string) string {
	if runtime.GOOS == "windows" {
		return strings.ToUpper(name)
	}
	return name
}

// environment lays the task's variables over the host's. Each name stands once, in the order of its first mention, with the last value.
func environment(host, task []string) []string {
	var merged []string
	at := map[string]int{}
	for _, list := range [][]string{host, task} {
		for _, v := range list {
			name, _, ok := strings.Cut(v, "=")
			if !ok || name == "" {
				continue
			}
			if i, seen := at[envKey(name)]; seen {
				merged[i] = v
				continue
			}
			at[envKey(name)] = len(merged)
			merged = append(merged, v)
		}
	}
	return merged
}

// rewrite stands in for mounts where there are no namespaces: see the package comment.
func rewrite(s *spec, mounts []Mount) {
	replace := func(text string) string {
		for _, m := range mounts {
			if text == m.Path {
				return m.HostDir
			}
			if rest, ok := strings.CutPrefix(text, m.Path+"/"); ok {
				return m.HostDir + "/" + rest
			}
		}
		return text
	}
	for i, arg := range s.Argv {
		if flag, value, ok := strings.Cut(arg, "="); ok && strings.HasPrefix(arg, "-") {
			s.Argv[i] = flag + "=" + replace(value)
			continue
		}
		s.Argv[i] = replace(arg)
	}
	for i, v := range s.Env {
		name, value, _ := strings.Cut(v, "=")
		s.Env[i] = name + "=" + replace(value)
	}
	s.Dir = replace(s.Dir)
	for i, m := range mounts {
		s.Env = environment(s.Env, []string{fmt.Sprintf("RESILIENTJOB_MOUNT_%d=%s", i, m.HostDir)})
	}
}
