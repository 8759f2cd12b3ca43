package edit

const emptyFile = `{"mcpServers": {}}`

const corpusDir = "../../../testdata/corpus/C"
