/** Texts of the service's inside that no answer may show. */
const PATTERNS = [
  /\bat (?:async )?[\w.<>]+ \(/,
  /\b[\w-]+\.(?:ts|js|mjs|lua):\d+/,
  /node_modules|file:\/\/|\/src\//,
  /\b(?:Type|Range|Syntax|Reference|URI|Zod|Prisma\w*|Redis|Aggregate)Error\b/,
  /\bE(?:CONN\w+|PIPE|NOTFOUND|ADDR\w+|HOSTUNREACH|TIMEDOUT)\b/,
  /\b(?:127\.0\.0\.1|localhost|0\.0\.0\.0|\[::1\])(?::\d+)?/,
  /\b(?:SELECT|INSERT INTO|UPDATE|DELETE FROM) .+ (?:FROM|VALUES|SET|WHERE)\b/,
  /\b(?:postgres|redis|kafka|prisma|undici|vllm)\b/i,
  /\bsk-[A-Za-z0-9]{20,}/,
  /\bengine-\d+\//,
];

/**
 * Finds texts in an answer that its request did not contain. `secrets` are texts of this run that no answer may show, such as the
 * key.
 */
export function findLeaks(
  answer: string,
  { request, secrets }: { request: string; secrets: readonly string[] },
): string[] {
  const shown = PATTERNS.flatMap((pattern) => pattern.exec(answer)?.[0] ?? []);
  const leaked = shown.filter((text) => !request.includes(text));
  return [...leaked, ...secrets.filter((secret) => answer.includes(secret)).map((secret) => `${secret.slice(0, 4)}…`)];
}
