/** Most entries of one answer of a list. */
export const PAGE_SIZE = 500;

/** The cursor of the next page: the last id of a full page, null at the end of the list. */
export const toNextAfter = (ids: string[]): string | null => (ids.length < PAGE_SIZE ? null : (ids.at(-1) ?? null));
