package overlay

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
)

// Objects are what a kustomization renders to.
type Objects []*unstructured.Unstructured

// Parse reads rendered objects.
func Parse(text []byte) (Objects, error) {
	var list Objects
	documents := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096)
	for {
		object := &unstructured.Unstructured{}
		switch err := documents.Decode(&object.Object); {
		case errors.Is(err, io.EOF):
			return list, nil
		case err != nil:
			return nil, fmt.Errorf("parse rendered objects: %w", err)
		}
		if len(object.Object) > 0 {
			list = append(list, object)
		}
	}
}

// Into converts an object to its type and refuses fields that the type lacks.
func Into[T any](object *unstructured.Unstructured) (*T, error) {
	out := new(T)
	err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(object.Object, out, true)
	return out, err
}

// All gives the objects of a kind.
func All[T any](objects Objects, kind string) ([]*T, error) {
	var list []*T
	for _, object := range objects {
		if object.GetKind() != kind {
			continue
		}
		typed, err := Into[T](object)
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", kind, object.GetName(), err)
		}
		list = append(list, typed)
	}
	return list, nil
}

// Grant is a rule and who has it.
type Grant struct {
	Role    string
	Account string // the ServiceAccount
	rbacv1.PolicyRule
}

// Grants are the rules of all Roles, by the ServiceAccounts that are bound to
// them. They are an error if anything cluster-wide is among the objects.
func (o Objects) Grants() ([]Grant, error) {
	roles, err := All[rbacv1.Role](o, "Role")
	if err != nil {
		return nil, err
	}
	bindings, err := All[rbacv1.RoleBinding](o, "RoleBinding")
	if err != nil {
		return nil, err
	}
	var grants []Grant
	for _, object := range o {
		if kind := object.GetKind(); kind == "ClusterRole" || kind == "ClusterRoleBinding" {
			return nil, fmt.Errorf("%s %s is cluster-wide", kind, object.GetName())
		}
	}
	for _, b := range bindings {
		for _, role := range roles {
			if b.RoleRef.Kind != "Role" || b.RoleRef.Name != role.Name || b.Namespace != role.Namespace {
				continue
			}
			for _, subject := range b.Subjects {
				for _, rule := range role.Rules {
					grants = append(grants, Grant{Role: role.Name, Account: subject.Name, PolicyRule: rule})
				}
			}
		}
	}
	return grants, nil
}
