import type { Evidence } from './evidence.ts';

/** Reads `GET /metrics` of services, by their names and internal addresses. */
export async function readMetricPages(services: Record<string, { internal_url: string }>): Promise<Evidence[]> {
  return Promise.all(
    Object.entries(services).map(async ([service, { internal_url: internalUrl }]) => {
      const response = await fetch(`${internalUrl}/metrics`);
      if (response.status !== 200) throw new Error(`${service} answered ${response.status} to GET /metrics`);
      return { place: `metrics ${service}`, bytes: Buffer.from(await response.text()) };
    }),
  );
}
