"""Creates certificates from audits, and verifies certificates by repeating the audits."""
