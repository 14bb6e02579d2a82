// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package runner

import (
	"errors"
	"fmt"
	"strings"
)

// Image says what to start for a container whose configuration has no command: the emulator does not pull images, so
// that it cannot know an image's entry point.
type Image struct {
	// Pattern is matched against the whole image name: * stands for any text (also with slashes), ? for one character.
	Pattern string
	// Command replaces the image's entry point; the container's args follow it.
	Command []string
}

// ParseImage reads PATTERN=COMMAND, the value of the flag --image. COMMAND is split at blanks as a shell would, with
// 'single' and "double" quotes and backslashes, but without any expansion.
func ParseImage(s string) (Image, error) {
	pattern, command, found := strings.Cut(s, "=")
	pattern = strings.TrimSpace(pattern)
	switch {
	case !found:
		return Image{}, fmt.Errorf("--image %q has no \"=\": write PATTERN=COMMAND, for example --image '*/train:*=python3 train.py'", s)
	case pattern == "":
		return Image{}, fmt.Errorf("--image %q has no pattern before \"=\": write the image's name, or * for every image", s)
	case strings.ContainsAny(pattern, " \t\n"):
		return Image{}, fmt.Errorf("--image %q: the pattern %q contains a blank, and no image name does", s, pattern)
	}
	words, err := splitWords(command)
	if err != nil {
		return Image{}, fmt.Errorf("--image %q: %w", s, err)
	}
	if len(words) == 0 || words[0] == "" {
		return Image{}, fmt.Errorf("--image %q has no command after \"=\": write what to start on this machine, for example python3 train.py", s)
	}
	return Image{Pattern: pattern, Command: words}, nil
}

// String returns the image as PATTERN=COMMAND, readable by ParseImage.
func (i Image) String() string {
	words := make([]string, len(i.Command))
	for n, w := range i.Command {
		words[n] = quoteWord(w)
	}
	return i.Pattern + "=" + strings.Join(words, " ")
}

// Matches tells whether the pattern matches the whole image name.
func (i Image) Matches(name string) bool { return glob(i.Pattern, name) }

// glob walks both strings once and goes back to the last star when it is stuck, so that it is never exponential.
func glob(pattern, s string) bool {
	p, n, star, mark := 0, 0, -1, 0
	for n < len(s) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, mark = p, n
			p++
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == s[n]):
			p++
			n++
		case star >= 0:
			mark++
			p, n = star+1, mark
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}

// splitWords splits a command line as a POSIX shell does, without expansion.
func splitWords(s string) ([]string, error) {
	var words []string
	var word strings.Builder
	inWord := false
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch c {
		case ' ', '\t', '\n':
			if inWord {
				words = append(words, word.String())
				word.Reset()
				inWord = false
			}
			continue
		case '\'':
			end := strings.IndexByte(s[i+1:], '\'')
			if end < 0 {
				return nil, errors.New("a single quote is not closed")
			}
			word.WriteString(s[i+1 : i+1+end])
			i += 1 + end
		case '"':
			closed := false
			for i++; i < len(s); i++ {
				if s[i] == '"' {
					closed = true
					break
				}
				if s[i] == '\\' && i+1 < len(s) && strings.IndexByte("\\\"$`", s[i+1]) >= 0 {
					i++
				}
				word.WriteByte(s[i])
			}
			if !closed {
				return nil, errors.New("a double quote is not closed")
			}
		case '\\':
			if i+1 == len(s) {
				return nil, errors.New("a backslash at the end has nothing to quote")
			}
			i++
			word.WriteByte(s[i])
		default:
			word.WriteByte(c)
		}
		inWord = true
	}
	if inWord {
		words = append(words, word.String())
	}
	return words, nil
}

func quoteWord(w string) string {
	if w != "" && !strings.ContainsAny(w, " \t\n'\"\\$`") {
		return w
	}
	return "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
}
