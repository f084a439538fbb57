/** Tells a simulated backend how to behave. */
export async function setKnobs({ admin_url: url }: { admin_url: string }, knobs: object): Promise<void> {
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(`${url}/admin/config`, { method: 'POST', headers, body: JSON.stringify(knobs) });
  if (!response.ok) throw new Error(`the simulator answered ${response.status}: ${await response.text()}`);
}
