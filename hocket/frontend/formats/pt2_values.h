#pragma once
// Parts of the torch.export schema: dtypes by number, metadata of tensors, and tensors.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>

#include "hocket/frontend/formats/archive.h"
#include "hocket/frontend/formats/json.h"
#include "hocket/ir/attribute.h"
#include "hocket/ir/tensor.h"

namespace hocket::frontend {

/// A dtype by its number in the schema.
DType read_scalar_type(Json value);

/// The only entry of an object whose key gives the kind of value: `{"as_int": 3}`.
JsonObject::Entry read_union(Json value);

/// `{"as_int": 3}`; Error, with its name, for a size that varies.
std::int64_t read_static_int(Json value);

struct TensorMeta {
  Type type;
  Ints strides;
  std::int64_t offset = 0;  ///< in elements
  friend bool operator==(const TensorMeta&, const TensorMeta&) = default;
};
TensorMeta read_tensor_meta(Json value);

/// Tensors of an archive by the name they have in the model.
class Payloads {
 public:
  struct Payload {
    std::string entry;  ///< of the archive
    TensorMeta meta;
    std::int64_t first = 0, last = 0;  ///< range of bytes in the entry
  };

  /// Reads the tables in `TOP/data/weights` and `TOP/data/constants`.
  Payloads(const Archive& archive, const std::string& top);

  /// Error when neither table has the name; `constant` says which is searched first.
  const Payload& find(std::string_view name, bool constant) const;
  /// The tensor, contiguous. Fastest when payloads of the same entry are loaded in a row.
  Tensor load(const Payload& payload);

 private:
  using Table = std::map<std::string, Payload, std::less<>>;
  Table read_table(const std::string& folder) const;

  const Archive* archive_;
  Table weights_, constants_;
  std::string entry_, data_;    // the entry read last
  std::int64_t allowed_bytes_;  // bytes that further tensors may take
};

}  // namespace hocket::frontend
