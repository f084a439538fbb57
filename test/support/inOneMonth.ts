const monthNow = (): string => new Date().toISOString().slice(0, 'YYYY-MM'.length);

/**
 * Returns the result of an attempt whose steps all lie in one calendar month (UTC). If a month ends meanwhile, the attempt runs
 * once more from its beginning, so it must make all that it needs.
 */
export async function inOneMonth<Result>(attempt: () => Promise<Result>): Promise<Result> {
  const before = monthNow();
  const result = await attempt();
  return monthNow() === before ? result : attempt();
}
