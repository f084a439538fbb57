import { Radio, Stack } from '@mantine/core';
import { isWithin, ROLES, type Role } from '@turnpike/console-api/roles';
import { ROLE_NAMES, ROLE_RIGHTS } from './roleNames.ts';

/** The roles that a member with the role `own` may give. */
export function RoleChoice({ own, initial }: { own: Role; initial: Role }) {
  return (
    <Radio.Group label="Role" name="role" defaultValue={initial}>
      <Stack gap="xs" mt="xs">
        {ROLES.filter((role) => isWithin(role, own)).map((role) => (
          <Radio key={role} value={role} label={ROLE_NAMES[role]} description={ROLE_RIGHTS[role]} />
        ))}
      </Stack>
    </Radio.Group>
  );
}
