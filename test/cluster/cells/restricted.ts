import { getJson, kubectl } from '@turnpike/cluster/kubectl';
import { namespaceOf, SCOPES } from '@turnpike/cluster/paths';
import { z } from 'zod';
import type { Cell } from '../cell.ts';
import { type Container, existsIn, listContainers, readProcess } from '../region/inContainer.ts';
import { APP, listPods } from '../region/pods.ts';

const TOKEN_FOLDER = '/var/run/secrets/kubernetes.io/serviceaccount';
/** The caller of the Kubernetes API: routers look up their engines there. */
const ASKS_THE_API = 'model-router';
const PROFILE = 'pod-security.kubernetes.io/enforce';

const namespaceSchema = z.object({ metadata: z.object({ labels: z.record(z.string(), z.string()) }) });

export const restricted: Cell = {
  name: 'restricted',
  does: 'looks at every process, mount and account of both regions and of the account layer, as the kernel has them, and asks for a pod that may more',
  holds:
    'every namespace enforces the restricted profile; nobody is root, has a capability or can write to its root; only routers have a token; nobody has the default account',
  async run({ check, note }) {
    for (const scope of SCOPES) {
      const namespace = namespaceOf(scope);
      const { metadata } = namespaceSchema.parse(await getJson(['get', 'namespace', namespace]));
      check(metadata.labels[PROFILE] === 'restricted', `${namespace} does not enforce the restricted profile`);
      check(await isRefused(namespace), `${namespace} takes a pod that runs as root`);
      const pods = await listPods(namespace);
      for (const { metadata: pod, spec } of pods) {
        const app = pod.labels[APP];
        check(spec.serviceAccountName === app, `${pod.name} has the service account ${spec.serviceAccountName}`);
      }
      const containers = await listContainers(pods);
      check(containers.length >= pods.length, `${namespace}: a pod has no process to look at`);
      await Promise.all(containers.map((container) => inspect(container, check)));
      note(`${scope}: ${pods.length} pods, ${containers.length} containers`);
    }
  },
};

async function inspect(container: Container, check: (isRight: boolean, what: string) => void): Promise<void> {
  const { pod, name } = container;
  const what = `${pod.metadata.namespace}/${pod.metadata.name} ${name}`;
  const status = new Map(
    (await readProcess(container, 'status')).split('\n').map((line) => line.split(/:\s+/, 2) as [string, string]),
  );
  check(!/(^|\s)0(\s|$)/.test(status.get('Uid') ?? '0'), `${what} runs as root`);
  check(status.get('CapEff') === '0000000000000000', `${what} has capabilities: ${status.get('CapEff')}`);
  check(status.get('CapBnd') === '0000000000000000', `${what} may get capabilities: ${status.get('CapBnd')}`);
  check(status.get('NoNewPrivs') === '1', `${what} may gain privileges`);
  check(status.get('Seccomp') === '2', `${what} has no filter of system calls`);
  const root = (await readProcess(container, 'mountinfo')).split('\n').find((line) => line.split(' ')[4] === '/');
  check(root?.split(' ')[5]?.split(',').includes('ro') === true, `${what} can write to its root`);
  const hasToken = await existsIn(container, TOKEN_FOLDER);
  const needsToken = pod.metadata.labels[APP] === ASKS_THE_API;
  check(hasToken === needsToken, `${what} has ${hasToken ? 'a' : 'no'} token of the Kubernetes API`);
}

/** Whether the API server refuses a pod that runs as root. */
async function isRefused(namespace: string): Promise<boolean> {
  const pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'root', namespace },
    spec: { containers: [{ name: 'root', image: 'turnpike-cluster/pause:1', securityContext: { runAsUser: 0 } }] },
  };
  try {
    await kubectl(['create', '--dry-run=server', '-f', '-'], JSON.stringify(pod));
    return false;
  } catch (error) {
    return /violates PodSecurity "restricted/.test((error as Error).message);
  }
}
