package cut

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
)

// All is the loss of a member that is cut off.
const All = 1000

// Where a TCP packet without IP options has its ports; etcd's have none.
const (
	sourcePort      = 20
	destinationPort = 22
)

// Filter is a cut in force.
type Filter struct {
	programs []*ebpf.Program
	links    []link.Link
}

// Start drops so many of 1000 packets of the processes that were born in the
// cgroup, in both directions. The spared local port is never dropped: it is how
// the kubelet of the member's own node goes on seeing it.
func Start(cgroup string, loss int32, spared uint16) (*Filter, error) {
	f := &Filter{}
	for _, side := range []struct {
		attach ebpf.AttachType
		port   int32
	}{{ebpf.AttachCGroupInetIngress, destinationPort}, {ebpf.AttachCGroupInetEgress, sourcePort}} {
		if err := f.attach(cgroup, side.attach, program(loss, spared, side.port)); err != nil {
			f.Stop()
			return nil, fmt.Errorf("cut %s: %w", filepath.Base(cgroup), err)
		}
	}
	return f, nil
}

func (f *Filter) attach(cgroup string, where ebpf.AttachType, code asm.Instructions) error {
	p, err := ebpf.NewProgram(&ebpf.ProgramSpec{Name: "etcdroll_cut", Type: ebpf.CGroupSKB, AttachType: where, Instructions: code, License: "MIT"})
	if err != nil {
		return err
	}
	f.programs = append(f.programs, p)
	l, err := link.AttachCgroup(link.CgroupOptions{Path: cgroup, Attach: where, Program: p})
	if err == nil {
		f.links = append(f.links, l)
	}
	return err
}

// program answers 1 for a packet that passes and 0 for one that is dropped.
func program(loss int32, spared uint16, port int32) asm.Instructions {
	network := int32(spared>>8 | spared<<8) // as a little-endian machine loads it
	return asm.Instructions{
		asm.Mov.Reg(asm.R6, asm.R1),
		asm.Mov.Imm(asm.R2, port),
		asm.Mov.Reg(asm.R3, asm.RFP),
		asm.Add.Imm(asm.R3, -8),
		asm.Mov.Imm(asm.R4, 2),
		asm.FnSkbLoadBytes.Call(),
		asm.JNE.Imm(asm.R0, 0, "draw"),
		asm.LoadMem(asm.R1, asm.RFP, -8, asm.Half),
		asm.JEq.Imm(asm.R1, network, "pass"),
		asm.FnGetPrandomU32.Call().WithSymbol("draw"),
		asm.Mod.Imm32(asm.R0, All),
		asm.JLT.Imm(asm.R0, loss, "drop"),
		asm.Mov.Imm(asm.R0, 1).WithSymbol("pass"),
		asm.Return(),
		asm.Mov.Imm(asm.R0, 0).WithSymbol("drop"),
		asm.Return(),
	}
}

// Stop lets everything pass again.
func (f *Filter) Stop() {
	for _, l := range f.links {
		_ = l.Close()
	}
	for _, p := range f.programs {
		_ = p.Close()
	}
}

// Room makes a cgroup below which every container gets one of its own, and says
// how to remove it once they are gone. The error says why members cannot be cut
// off on this machine.
func Room() (path string, remove func(), err error) {
	top, err := mount()
	if err != nil {
		return "", nil, err
	}
	path = filepath.Join(top, "etcdroll-chaos-"+strconv.Itoa(os.Getpid()))
	if err := os.Mkdir(path, 0o755); err != nil {
		return "", nil, fmt.Errorf("make a cgroup: %w", err)
	}
	f, err := Start(path, All, 0)
	if err != nil {
		_ = os.Remove(path)
		return "", nil, err
	}
	f.Stop()
	return path, func() { removeAll(path) }, nil
}

// removeAll removes cgroups that have no process left; files in them are the
// kernel's.
func removeAll(path string) {
	rooms, _ := os.ReadDir(path)
	for _, r := range rooms {
		if r.IsDir() {
			_ = os.Remove(filepath.Join(path, r.Name()))
		}
	}
	_ = os.Remove(path)
}

// mount finds where the second version of cgroups is.
func mount() (string, error) {
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(mounts)) {
		if f := strings.Fields(line); len(f) > 2 && f[2] == "cgroup2" {
			return f[1], nil
		}
	}
	return "", errors.New("no cgroup2 file system is mounted")
}
