def make(operations): return ""
