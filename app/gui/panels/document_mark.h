#pragma once

#include <memory>

#include "app/gui/session/document.h"

namespace meshscope::panels {

/// Which document something was found in, without keeping it open. More than its address: the next document
/// may lie where a closed one lay.
class DocumentMark {
  public:
    DocumentMark() = default;
    explicit DocumentMark(const std::shared_ptr<const session::Document>& document) : document_(document) {}
    friend bool operator==(const DocumentMark& a, const DocumentMark& b) {
        return !a.document_.owner_before(b.document_) && !b.document_.owner_before(a.document_);
    }

  private:
    std::weak_ptr<const session::Document> document_;
};

}  // namespace meshscope::panels
