package spoke

import (
	"context"
	"fmt"
	"time"

	"github.com/openshift/library-go/pkg/controller/controllercmd"

	"open-cluster-management.io/ocm/pkg/portolan/program"
)

// From this grace period on, OCM evicts nothing.
const noEviction = 100 * 365 * 24 * time.Hour

// RunWorkloadAgent applies works with Portolan's agent, with the options that a spec gives to OCM's. There is no
// ManagedCluster in this suite, hence no heartbeat.
func (o *WorkAgentConfig) RunWorkloadAgent(ctx context.Context, controllerContext *controllercmd.ControllerContext) error {
	spoke, err := program.Kubeconfig(controllerContext.KubeConfig)
	if err != nil {
		return err
	}
	grace := "never"
	if period := o.workOptions.AppliedManifestWorkEvictionGracePeriod; period < noEviction {
		grace = seconds(period)
	}
	arguments := []string{
		"agent",
		"--hub", o.workOptions.WorkloadSourceConfig,
		"--spoke", spoke,
		"--cluster", o.agentOptions.SpokeClusterName,
		"--poll", seconds(o.workOptions.StatusSyncInterval),
		"--eviction-grace-period", grace,
		"--heartbeat", "off",
	}
	if id := o.agentOptions.AgentID; id != "" {
		arguments = append(arguments, "--agent-id", id)
	}
	return program.Portolan(ctx, arguments...)
}

func seconds(period time.Duration) string {
	return fmt.Sprintf("%ds", int64(period.Seconds()))
}
