package access

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Exit codes. They are documented in every command's help.
const (
	ExitDone  = 0
	ExitError = 1 // for wait: not converged in time
	ExitStop  = 2 // for wait: halted; for adopt and plan: something stands in the way
	ExitUsage = 3 // for wait: it could not be looked at
)

// Failure is an error with its own exit code.
type Failure struct {
	Code int
	Text string
}

// Error is the text.
func (f *Failure) Error() string { return f.Text }

// Fail makes a failure with an exit code.
func Fail(code int, format string, args ...any) error {
	return &Failure{code, fmt.Sprintf(format, args...)}
}

// ExitCode is the code to end with after the error; nil is ExitDone.
func ExitCode(err error) int {
	var f *Failure
	switch {
	case err == nil:
		return ExitDone
	case errors.As(err, &f):
		return f.Code
	}
	return ExitError
}

// OneLine is the error in one line.
func OneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }

// Remedied adds to an error of the API server what a person can do about it.
// The error stays inside.
func Remedied(doing string, err error) error {
	var network *url.Error
	var refused *net.OpError
	switch {
	case err == nil:
		return nil
	case apierrors.IsNotFound(err):
		return fmt.Errorf("%s: %w: check the name, --namespace and --context", doing, err)
	case apierrors.IsForbidden(err):
		return fmt.Errorf("%s: %w: ask for that right, or choose another user with --context or --as", doing, err)
	case apierrors.IsUnauthorized(err):
		return fmt.Errorf("%s: the API server does not know you (%w): log in anew, or check --kubeconfig and --context", doing, err)
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%s: no answer in time (%w): check --server and the network, or raise --request-timeout", doing, err)
	case errors.As(err, &network), errors.As(err, &refused):
		return fmt.Errorf("%s: the API server cannot be reached (%w): check --kubeconfig, --context and --server", doing, err)
	}
	return fmt.Errorf("%s: %w", doing, err)
}
