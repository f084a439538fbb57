-- Of a long audit, the rows that say who has left.
CREATE INDEX audit_of_former_members ON audit (organization_id, target)
  WHERE action IN ('member.removed', 'member.left');
