/** The engine's metrics by name, and by name and finish reason where there is one. */
export async function readMetrics(url: string): Promise<Record<string, number>> {
  const text = await (await fetch(`${url}/metrics`)).text();
  const lines = text.matchAll(/^vllm:(\w+)\{.*?(?:finished_reason="(\w+)")?\} (\S+)$/gm);
  return Object.fromEntries(
    Array.from(lines, ([, name, reason, value]) => [reason ? `${name}_${reason}` : name, Number(value)]),
  );
}
