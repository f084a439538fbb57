/** How many images may be on their way at once: in this process, and for one workspace of many. */
export interface FetchLimits {
  inAll: number;
  perWorkspace: number;
}

export interface FetchSlots {
  /** Takes slots for all images of a call, or none: undefined if there are not so many. The function gives them back. */
  take(workspaceId: string, count: number): (() => void) | undefined;
}

/** Slots for fetches under way, so that no workspace can keep the others' images waiting with addresses that never answer. */
export function createFetchSlots({ inAll, perWorkspace }: FetchLimits): FetchSlots {
  let taken = 0;
  const takenBy = new Map<string, number>();
  const add = (workspaceId: string, count: number): void => {
    taken += count;
    const left = (takenBy.get(workspaceId) ?? 0) + count;
    if (left === 0) takenBy.delete(workspaceId);
    else takenBy.set(workspaceId, left);
  };
  return {
    take(workspaceId, count) {
      if (taken + count > inAll || (takenBy.get(workspaceId) ?? 0) + count > perWorkspace) return undefined;
      add(workspaceId, count);
      return () => add(workspaceId, -count);
    },
  };
}
