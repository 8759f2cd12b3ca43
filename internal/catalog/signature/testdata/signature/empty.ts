{}
tool()
