import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { BIN } from '@turnpike/cluster/paths';
import { repositoryRoot } from '@turnpike/local-stack/repositoryRoot';
import { z } from 'zod';

/** A linter's verdict on a file. */
export interface Verdict {
  /** How many things it looked at: objects, or checks. */
  looked: number;
  problems: string[];
}

const POLICY = join(repositoryRoot, 'k8s/policy');

const conformSchema = z.object({
  resources: z.array(z.object({ kind: z.string(), name: z.string(), msg: z.string() })),
  summary: z.object({ valid: z.number() }),
});
const policySchema = z.array(
  z.object({ successes: z.number().optional(), failures: z.array(z.object({ msg: z.string() })).optional() }),
);

/** kubeconform, with schemas in which a field that they do not name is an error. */
export function conforms(file: string, schemas: string): Verdict {
  const args = ['-strict', '-summary', '-output', 'json', '-schema-location', schemas, file];
  return judge('kubeconform', args, (output) => {
    const { resources, summary } = conformSchema.parse(JSON.parse(output));
    return { looked: summary.valid, problems: resources.map(({ kind, name, msg }) => `${kind} ${name}: ${msg}`) };
  });
}

/**
 * Runs kube-score. Exceptions are annotations in the manifests, except one. No container has a CPU limit (k8s/README.md), and its
 * annotation would also permit a missing memory limit.
 */
export function scores(file: string, kubernetesVersion: string): Verdict {
  const options = ['--kubernetes-version', kubernetesVersion, '--ignore-container-cpu-limit', '--output-format', 'ci'];
  return judge('kube-score', ['score', ...options, file], (output) => {
    const lines = output.split('\n').filter((line) => line.startsWith('['));
    return { looked: lines.length, problems: lines.filter((line) => line.startsWith('[CRITICAL]')) };
  });
}

/** The rules of k8s/policy, of all objects of the file together. */
export function keepsPolicy(file: string): Verdict {
  return judge('conftest', ['test', '--combine', '--output', 'json', '--policy', POLICY, file], readPolicyVerdict);
}

/** The tests of those rules. */
export function verifiesPolicy(): Verdict {
  return judge('conftest', ['verify', '--output', 'json', '--policy', POLICY], readPolicyVerdict);
}

function readPolicyVerdict(output: string): Verdict {
  const results = policySchema.parse(JSON.parse(output));
  const problems = results.flatMap(({ failures = [] }) => failures.map(({ msg }) => msg));
  return { looked: problems.length + results.reduce((sum, { successes = 0 }) => sum + successes, 0), problems };
}

/** A linter that fails without naming a problem has not looked: that is one too. */
function judge(name: string, args: string[], read: (output: string) => Verdict): Verdict {
  const { status, stdout, stderr, error } = spawnSync(join(BIN, name), args, {
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  });
  const failed = (why: string): Verdict => ({ looked: 0, problems: [`${name} failed: ${why}`] });
  if (error) return failed(error.message);
  try {
    const verdict = read(stdout);
    return status === 0 || verdict.problems.length > 0 ? verdict : failed(stderr.trim());
  } catch {
    return failed(stderr.trim() || stdout.trim());
  }
}
