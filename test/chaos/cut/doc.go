// Package cut cuts a member off the network or makes its network lossy, with a
// BPF program on the member's own cgroup. Nothing else on the machine is
// touched, and the kernel removes the program when this process ends, however
// it ends. There is no netem in many small kernels; where cgroup programs are
// missing too, Available says so.
package cut
