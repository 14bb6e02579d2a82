// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

//go:build unix

package runner

import (
	"bytes"
	"encoding/binary"
	"encoding/gob"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// initName is argv[0] of a task's parent: how MaybeInit knows it.
const initName = "resilientjob-task-init"

// The extra files of a task's parent.
const (
	controlFD = 3 // in: the spec, then one byte for each SIGTERM; its end means SIGKILL, so that tasks die with the emulator
	statusFD  = 4 // out: one JSON object a line
)

const terminateByte = 'T'

// drain bounds how long output is awaited after the end of a task whose descendants got away and hold its pipes.
const drain = 2 * time.Second

// status is a message of the task's parent.
type status struct {
	Started bool   `json:"started,omitempty"`
	Failure string `json:"failure,omitempty"`
	Ended   bool   `json:"ended,omitempty"`
	Code    int    `json:"code,omitempty"`
	Signal  int    `json:"signal,omitempty"`
}

// unixProcess is a task under a parent of its own (this program once more, see MaybeInit), which builds the namespace,
// starts the task, passes signals on and reports the end.
type unixProcess struct {
	cmd     *exec.Cmd
	startCh chan struct{}
	goneCh  chan struct{}
	isOver  atomic.Bool
	end     ending // written before goneCh is closed
	last    status

	mu      sync.Mutex // guards control
	control *os.File   // nil after kill
}

func startProcess(s spec, ns *namespace, out *lines) (process, error) {
	var message bytes.Buffer
	message.Write(make([]byte, 4))
	if err := gob.NewEncoder(&message).Encode(s); err != nil {
		return nil, err
	}
	binary.BigEndian.PutUint32(message.Bytes(), uint32(message.Len()-4))

	self, err := executable()
	if err != nil {
		return nil, err
	}
	controlRead, controlWrite, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer func() { _ = controlRead.Close() }()
	statusRead, statusWrite, err := os.Pipe()
	if err != nil {
		_ = controlWrite.Close()
		return nil, err
	}
	defer func() { _ = statusWrite.Close() }()
	cmd := &exec.Cmd{
		Path: self, Args: []string{initName}, Env: []string{}, Dir: "/",
		Stdout: &out.stdout, Stderr: &out.stderr,
		ExtraFiles:  []*os.File{controlRead, statusWrite},
		SysProcAttr: ns.attributes(),
		WaitDelay:   drain,
	}
	// Not the emulator's terminal: Ctrl-C there is for the emulator, which then ends its tasks in order.
	cmd.SysProcAttr.Setsid = true
	if err := cmd.Start(); err != nil {
		_ = controlWrite.Close()
		_ = statusRead.Close()
		return nil, err
	}
	p := &unixProcess{cmd: cmd, startCh: make(chan struct{}), goneCh: make(chan struct{}), control: controlWrite}
	p.mu.Lock()
	go func() {
		// A spec may be larger than a pipe's buffer; SIGTERM waits for it by the lock.
		defer p.mu.Unlock()
		_, _ = controlWrite.Write(message.Bytes()) // a parent that is gone shows in watch
	}()
	go p.watch(statusRead, out)
	return p, nil
}

// executable is this program. The link of Linux stays right when the file was replaced by a newer build.
func executable() (string, error) {
	if runtime.GOOS == "linux" {
		return "/proc/self/exe", nil
	}
	return os.Executable()
}

func (p *unixProcess) watch(statusRead *os.File, out *lines) {
	defer close(p.goneCh)
	decoder := json.NewDecoder(statusRead)
	began := false
	for {
		var s status
		if decoder.Decode(&s) != nil {
			break
		}
		if s.Started {
			began = true
			close(p.startCh)
			continue
		}
		p.last = s
		p.isOver.Store(true)
	}
	_ = statusRead.Close()
	err := p.cmd.Wait() // of no interest beyond the text below: the status tells how the task ended
	p.isOver.Store(true)
	p.kill() // releases the pipe
	out.flush()

	switch {
	case p.last.Ended:
		p.end = ending{code: p.last.Code, signal: p.last.Signal}
	case p.last.Failure != "":
		p.end = ending{failure: p.last.Failure}
	case began:
		// The parent itself was killed, by the system's memory killer or a person, and the task with it.
		p.end = ending{signal: int(syscall.SIGKILL)}
	default:
		p.end = ending{failure: fmt.Sprintf("the process that prepares the task ended before it could start it: %v", err)}
	}
}

func (p *unixProcess) started() <-chan struct{} { return p.startCh }
func (p *unixProcess) gone() <-chan struct{}    { return p.goneCh }
func (p *unixProcess) over() bool               { return p.isOver.Load() }
func (p *unixProcess) ending() ending           { return p.end }

func (p *unixProcess) terminate() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.control != nil {
		_, _ = p.control.Write([]byte{terminateByte}) // a parent that is gone has no task left
	}
}

func (p *unixProcess) kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.control != nil {
		_ = p.control.Close()
		p.control = nil
	}
}
