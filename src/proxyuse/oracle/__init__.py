"""Whether a witness of proxy use is appropriate: judged by rules, by people, or by a function."""
