package trigger

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"
)

// deniedRight turns a refusal of the API server into an error that spells out the missing verb and resource; nil if err
// is no such refusal. Waiting does not cure a missing right, so it is fatal.
func deniedRight(err error) error {
	switch {
	case apierrors.IsUnauthorized(err):
		return fmt.Errorf("the API server does not accept our credentials: %w", err)
	case !apierrors.IsForbidden(err):
		return nil
	}
	match := forbidden.FindStringSubmatch(err.Error())
	if match == nil {
		return fmt.Errorf("the API server forbids what we need: %w", err)
	}
	return fmt.Errorf("missing right: verb %q on resource %q (%w)", match[1], match[2], err)
}

// The API server's own wording, as stable as an error text can be; without a match the text is passed on whole.
var forbidden = regexp.MustCompile(`cannot ([a-z]+) resource "([^"]+)"`)

// refusals tells a right that is missing from an API server that has just started and refuses everybody until it has
// read its rules. The zero value has no patience.
type refusals struct {
	mu           sync.Mutex
	patience     time.Duration
	first, again time.Time
}

// forgotten is how long after the last refusal the next one begins a new row. A reflector tries again every minute.
const forgotten = 90 * time.Second

func (r *refusals) allow(patience time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.patience = patience
}

// last notes one refusal, and says whether they have lasted too long.
func (r *refusals) last(now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now.Sub(r.again) > forgotten {
		r.first = now
	}
	r.again = now
	return now.Sub(r.first) >= r.patience
}

// Preflight makes the smallest request of each kind that the caches will make, so that an API server that cannot be
// reached, or a missing right, is one clear line at once instead of a deadline later.
func Preflight(ctx context.Context, meta metadata.Interface, scope Scope, deadline time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	for _, namespace := range scope.namespaces() {
		for _, ask := range []struct {
			resource schema.GroupVersionResource
			selector string
		}{{setsResource, managedSets}, {podsResource, scope.PodSelector}} {
			options := metav1.ListOptions{Limit: 1, LabelSelector: ask.selector}
			_, err := meta.Resource(ask.resource).Namespace(namespace).List(ctx, options)
			if err != nil {
				return explain(err, ask.resource.Resource, namespace)
			}
		}
	}
	return nil
}

func explain(err error, resource, namespace string) error {
	if denied := deniedRight(err); denied != nil {
		return denied
	}
	var unreachable *url.Error
	if errors.As(err, &unreachable) {
		host := unreachable.URL
		if u, parseErr := url.Parse(unreachable.URL); parseErr == nil {
			host = u.Host
		}
		return fmt.Errorf("cannot reach the API server at %s: %w", host, unreachable.Err)
	}
	where := "all namespaces"
	if namespace != "" {
		where = "namespace " + namespace
	}
	return fmt.Errorf("list %s in %s: %w", resource, where, err)
}
