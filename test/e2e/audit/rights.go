package audit

import (
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
)

// Refused says that the API server did not let the user in or do it.
func (e Entry) Refused() bool { return e.Response.Code == 401 || e.Response.Code == 403 }

// Within says that the rule allows the request, in whatever namespace.
func (e Entry) Within(rule rbacv1.PolicyRule) bool {
	if !has(rule.Verbs, e.Verb) {
		return false
	}
	if e.Object.Resource == "" {
		path, _, _ := strings.Cut(e.URI, "?")
		return slices.ContainsFunc(rule.NonResourceURLs, func(url string) bool {
			prefix, wild := strings.CutSuffix(url, "*")
			return path == url || wild && strings.HasPrefix(path, prefix)
		})
	}
	resource := e.Object.Resource
	if e.Object.Subresource != "" {
		resource += "/" + e.Object.Subresource
	}
	named := len(rule.ResourceNames) == 0 || slices.Contains(rule.ResourceNames, e.Object.Name)
	return named && has(rule.APIGroups, e.Object.APIGroup) && has(rule.Resources, resource)
}

func has(list []string, one string) bool {
	return slices.Contains(list, one) || slices.Contains(list, "*")
}
