package cluster

import (
	"os"
	"strconv"
	"strings"
)

// EnvFeatureGates are the feature gates of the local control plane, as its
// programs take them: "A=true,B=false". Empty leaves all at their defaults.
const EnvFeatureGates = "ETCDROLL_E2E_FEATURE_GATES"

func featureGates() []string {
	if gates := os.Getenv(EnvFeatureGates); gates != "" {
		return []string{"--feature-gates=" + gates}
	}
	return nil
}

// Gate says whether a feature gate of the local control plane is on; byDefault
// is what it is when nobody says otherwise.
func (c *Cluster) Gate(name string, byDefault bool) bool {
	for _, gate := range strings.Split(os.Getenv(EnvFeatureGates), ",") {
		if key, value, _ := strings.Cut(gate, "="); key == name {
			on, err := strconv.ParseBool(value)
			return err == nil && on
		}
	}
	return byDefault
}
