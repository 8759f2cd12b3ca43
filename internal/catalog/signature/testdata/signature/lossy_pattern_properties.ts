not applied
tool()
