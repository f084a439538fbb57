import { useQuery } from '@tanstack/react-query';
import { membersQuery } from '../account.ts';

/** Returns a function that gives the name of a member, or of a former one, by the id of the user. */
export function useMemberNames(organizationId: string): (userId: string) => string | undefined {
  const { data } = useQuery(membersQuery(organizationId));
  const known = data && [...data.members, ...data.former_members];
  return (userId) => known?.find(({ user_id: id }) => id === userId)?.name;
}
