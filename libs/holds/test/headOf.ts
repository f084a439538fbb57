/** The keys and arguments that every script begins with which includes `pending.lua`. */
export function headOf(workspaceId: string, mark: string): { keys: string[]; args: string[] } {
  return { keys: [`{${workspaceId}}:nothing`], args: [mark] };
}
