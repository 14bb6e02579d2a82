// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package runner

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

// namespace exists on Linux only.
type namespace struct{}

func probeNamespace() (*namespace, error) {
	return nil, errors.New("this operating system has no namespaces: they are Linux's")
}

// MaybeInit must be called first thing in main (and in TestMain) of every program that launches processes. Windows tasks need
// no process of this program as their parent, so that it always returns.
func MaybeInit() { maybeInitCalled = true }

// Numbers as Linux has them, since results speak its language.
const (
	sigkill = 9
	sigterm = 15
)

// statusControlCExit is the exit code of a program that does not handle CTRL_BREAK_EVENT.
const statusControlCExit = 0xC000013A

// windowsProcess is a task in a job object, which ends everything in it.
type windowsProcess struct {
	cmd     *exec.Cmd
	job     windows.Handle
	startCh chan struct{}
	goneCh  chan struct{}
	isOver  atomic.Bool
	killed  atomic.Bool
	end     ending
}

func startProcess(s spec, _ *namespace, out *lines) (process, error) {
	program := s.Argv[0]
	if !strings.ContainsAny(program, `/\`) {
		found, err := exec.LookPath(program)
		if err != nil {
			return nil, fmt.Errorf("the command %q cannot be started: %w. %s", program, err, s.NotFound)
		}
		program = found
	} else if !filepath.IsAbs(program) {
		program = filepath.Join(s.Dir, program)
	}
	job, err := newJob()
	if err != nil {
		return nil, err
	}
	cmd := &exec.Cmd{
		Path: program, Args: s.Argv, Env: s.Env, Dir: s.Dir, Stdout: &out.stdout, Stderr: &out.stderr, WaitDelay: 2 * time.Second,
		SysProcAttr: &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP},
	}
	if err := cmd.Start(); err != nil {
		_ = windows.CloseHandle(job)
		return nil, fmt.Errorf("the command %q cannot be started: %w. %s", s.Argv[0], err, s.NotFound)
	}
	// What the task starts in the moment before this is not in the job object.
	if err := assign(job, cmd.Process.Pid); err != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		_ = windows.CloseHandle(job)
		return nil, err
	}
	p := &windowsProcess{cmd: cmd, job: job, startCh: make(chan struct{}), goneCh: make(chan struct{})}
	close(p.startCh)
	go p.watch(out)
	return p, nil
}

// newJob makes a job object whose processes die when its last handle is closed, so also when the emulator dies.
func newJob() (windows.Handle, error) {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return 0, fmt.Errorf("making a job object: %w", err)
	}
	limits := windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{
		BasicLimitInformation: windows.JOBOBJECT_BASIC_LIMIT_INFORMATION{LimitFlags: windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE},
	}
	if _, err := windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation, uintptr(unsafe.Pointer(&limits)), uint32(unsafe.Sizeof(limits))); err != nil {
		_ = windows.CloseHandle(job)
		return 0, fmt.Errorf("setting up a job object: %w", err)
	}
	return job, nil
}

func assign(job windows.Handle, pid int) error {
	handle, err := windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false, uint32(pid))
	if err != nil {
		return fmt.Errorf("opening the task's process: %w", err)
	}
	defer func() { _ = windows.CloseHandle(handle) }()
	if err := windows.AssignProcessToJobObject(job, handle); err != nil {
		return fmt.Errorf("putting the task's process into its job object: %w", err)
	}
	return nil
}

func (p *windowsProcess) watch(out *lines) {
	defer close(p.goneCh)
	state, _ := p.cmd.Process.Wait()
	p.isOver.Store(true)
	_ = windows.TerminateJobObject(p.job, 1) // what the task left behind
	_ = p.cmd.Wait()                         // the output's end
	out.flush()
	_ = windows.CloseHandle(p.job)
	switch {
	case p.killed.Load():
		p.end = ending{signal: sigkill}
	case state == nil:
		p.end = ending{failure: "the task's process was lost"}
	case uint32(state.ExitCode()) == statusControlCExit:
		p.end = ending{signal: sigterm}
	default:
		p.end = ending{code: state.ExitCode()}
	}
}

func (p *windowsProcess) started() <-chan struct{} { return p.startCh }
func (p *windowsProcess) gone() <-chan struct{}    { return p.goneCh }
func (p *windowsProcess) over() bool               { return p.isOver.Load() }
func (p *windowsProcess) ending() ending           { return p.end }

// terminate is as near as Windows comes to SIGTERM: Python sees signal.SIGBREAK, Go os.Interrupt.
func (p *windowsProcess) terminate() {
	_ = windows.GenerateConsoleCtrlEvent(windows.CTRL_BREAK_EVENT, uint32(p.cmd.Process.Pid))
}

func (p *windowsProcess) kill() {
	if !p.isOver.Load() {
		p.killed.Store(true)
		_ = windows.TerminateJobObject(p.job, 1)
	}
}
