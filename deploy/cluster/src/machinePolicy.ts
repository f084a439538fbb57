import type { Region } from '@turnpike/config/region';
import { namespaceOf } from './regions.ts';

/** The bridge of this machine and its nodes. */
const MACHINE = '10.213.0.0/24';

/**
 * Lets this machine, which is no pod, to every pod of a region: it stands for the clients, the operator and whoever looks at the
 * stores. What pods may is as the manifests say.
 */
export const toMachinePolicy = (region: Region): object => ({
  apiVersion: 'networking.k8s.io/v1',
  kind: 'NetworkPolicy',
  metadata: { name: 'this-machine', namespace: namespaceOf(region) },
  spec: { podSelector: {}, policyTypes: ['Ingress'], ingress: [{ from: [{ ipBlock: { cidr: MACHINE } }] }] },
});
