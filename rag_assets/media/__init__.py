"""What files are, whoever reads them: `media_types` names the types, `encodings` decodes text."""
