import { useQuery } from '@tanstack/react-query';
import { membersQuery } from '../account.ts';

/** Returns a function that gives the name of a member by the id of the user. */
export function useMemberNames(organizationId: string): (userId: string) => string | undefined {
  const { data } = useQuery(membersQuery(organizationId));
  return (userId) => data?.members.find(({ user_id: id }) => id === userId)?.name;
}
