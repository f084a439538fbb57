import { useQuery } from '@tanstack/react-query';
import { useCallback } from 'react';
import { keysByIdQuery } from '../console.ts';
import { useWorkspace } from '../shell/workspace.tsx';
import { toKeyName } from './keyStates.ts';

/** Returns a function that gives the names of these keys. It gives the id of a key until its name is read, and without the right to it. */
export function useKeyNames(keyIds: string[]): (keyId: string) => string {
  const { data } = useQuery(keysByIdQuery(useWorkspace(), keyIds));
  return useCallback(
    (keyId) => {
      const key = data?.get(keyId);
      return key ? toKeyName(key) : keyId;
    },
    [data],
  );
}
