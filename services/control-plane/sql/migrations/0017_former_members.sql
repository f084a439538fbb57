-- Finds former members without reading an organization's whole audit.
CREATE INDEX audit_of_former_members ON audit (organization_id, target)
  WHERE action IN ('member.removed', 'member.left');
